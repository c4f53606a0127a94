// Package check reads a packed history, has porcupine search it and writes one line a partition.
package check

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"touchstone/porcupy/models"
)

// Magic opens a request: "TSPORC01" as bytes.
const Magic = uint64(0x3130_4352_4f50_5354)

const (
	headerWords = 4
	columns     = 10
)

// Annotation is something to be drawn beside the operations, e.g. a fault.
type Annotation struct {
	Tag         string `json:"tag"`
	Start       int64  `json:"start"`
	End         int64  `json:"end"`
	Description string `json:"description"`
	Details     string `json:"details"`
	Colour      string `json:"colour"`
}

// Request is the JSON part of a request.
type Request struct {
	Model       string       `json:"model"`
	TimeoutMs   int64        `json:"timeout_ms"`
	MemoryMib   int64        `json:"memory_mib"`
	Html        bool         `json:"html"`
	Labels      []string     `json:"labels"`
	Annotations []Annotation `json:"annotations"`
}

// Header is the fixed part: how much of everything follows.
type Header struct{ Operations, Values, JsonBytes int }

// ReadHeader reads the four words at the head of a request.
func ReadHeader(in io.Reader) (Header, error) {
	var words [headerWords]uint64
	if err := binary.Read(in, binary.LittleEndian, &words); err != nil {
		return Header{}, fmt.Errorf("no complete header: %w", err)
	}
	if words[0] != Magic {
		return Header{}, fmt.Errorf("not a request: magic %#x", words[0])
	}
	for _, size := range words[1:] {
		if size > 1<<40 {
			return Header{}, fmt.Errorf("absurd size in the header: %d", size)
		}
	}
	return Header{int(words[1]), int(words[2]), int(words[3])}, nil
}

// Bytes is how much memory the decoded request takes, roughly.
func (h Header) Bytes() int64 {
	return int64(h.Operations)*(columns*8+160) + int64(h.Values)*8 + 3*int64(h.JsonBytes)
}

// ReadRequest reads the JSON part, padded to whole words.
func ReadRequest(in io.Reader, header Header) (Request, error) {
	var request Request
	text := make([]byte, (header.JsonBytes+7)/8*8)
	if _, err := io.ReadFull(in, text); err != nil {
		return request, fmt.Errorf("no complete JSON: %w", err)
	}
	if err := json.Unmarshal(text[:header.JsonBytes], &request); err != nil {
		return request, fmt.Errorf("bad JSON: %w", err)
	}
	if len(request.Labels) != 0 && len(request.Labels) != header.Operations {
		return request, fmt.Errorf("%d labels for %d operations",
			len(request.Labels), header.Operations)
	}
	return request, nil
}

// ReadOps reads the columns: call return client key kind a b c status, the number of values, then
// the values of all operations one after the other.
func ReadOps(in io.Reader, header Header, labels []string) ([]models.Op, error) {
	n := header.Operations
	words := make([]int64, columns*n+header.Values)
	if err := binary.Read(in, binary.LittleEndian, words); err != nil {
		return nil, fmt.Errorf("no complete columns: %w", err)
	}
	column := func(i int) []int64 { return words[i*n : (i+1)*n] }
	values := words[columns*n:]
	ops := make([]models.Op, n)
	for i := range ops {
		count := column(9)[i]
		if count < 0 || count > int64(len(values)) {
			return nil, fmt.Errorf("operation %d claims %d values of %d", i, count, len(values))
		}
		ops[i] = models.Op{
			Index: i, Call: column(0)[i], Return: column(1)[i], Client: column(2)[i],
			Key: column(3)[i], Kind: column(4)[i], A: column(5)[i], B: column(6)[i],
			C: column(7)[i], Status: column(8)[i], Vals: values[:count:count],
		}
		values = values[count:]
		if ops[i].Return < ops[i].Call {
			return nil, fmt.Errorf("operation %d returns before its call", i)
		}
		if ops[i].Status == models.Unknown {
			ops[i].Return = models.Never
		}
		if len(labels) != 0 {
			ops[i].Label = labels[i]
		}
	}
	if len(values) != 0 {
		return nil, fmt.Errorf("%d values belong to no operation", len(values))
	}
	return ops, nil
}
