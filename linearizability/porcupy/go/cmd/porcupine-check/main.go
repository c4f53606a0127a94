// porcupine-check reads one packed history from standard input and writes one line of JSON for
// each of its partitions, as soon as it is judged, then {"done": true}.
//
// Exit status: 0 all partitions were judged (see the lines), 3 the memory limit was reached, 64 the
// request is bad (2 is how Go ends a program that crashed). Whatever was written before an early
// end still stands.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"touchstone/porcupy/check"
	"touchstone/porcupy/models"
)

const exitBadRequest = 64

func main() {
	if len(os.Args) > 1 {
		fmt.Println("porcupine-check: reads a packed history on standard input; models:")
		for _, model := range models.All {
			fmt.Println("  " + model.Name)
		}
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "porcupine-check:", err)
		os.Exit(exitBadRequest)
	}
}

func run() error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	header, err := check.ReadHeader(in)
	if err != nil {
		return err
	}
	request, err := check.ReadRequest(in, header)
	if err != nil {
		return err
	}
	limit := request.MemoryMib << 20
	if limit > 0 && header.Bytes() > limit {
		os.Exit(check.ExitMemory)
	}
	check.LimitMemory(limit)
	model, err := models.ByName(request.Model)
	if err != nil {
		return err
	}
	ops, err := check.ReadOps(in, header, request.Labels)
	if err != nil {
		return err
	}
	return judge(model, ops, request)
}

// judge goes through the partitions one by one: porcupine keeps a whole search in memory, and two
// at once would hold twice as much.
func judge(model models.Model, ops []models.Op, request check.Request) error {
	out := json.NewEncoder(os.Stdout)
	deadline := time.Now().Add(time.Duration(request.TimeoutMs) * time.Millisecond)
	drawn := false
	for _, partition := range check.Partitions(ops) {
		line, prepared := check.Partition(model, partition, deadline)
		if err := out.Encode(line); err != nil {
			return err
		}
		if line.Verdict != "invalid" {
			continue
		}
		check.Explain(&line, model, prepared, request, deadline, request.Html && !drawn)
		drawn = drawn || line.Html != nil
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return out.Encode(map[string]bool{"done": true})
}
