package models

import (
	"errors"
	"fmt"
	"sort"

	"github.com/anishathalye/porcupine"
)

// Kinds of the partition log: a sequence of values, empty at first; appends go to its end.
const (
	// LogAppend: vals the values, together; c the offset of the first (ignored if unknown).
	LogAppend = 0
	// LogRead: vals the values from offset a on. b = 1: the reader saw the end of the log; b = 0:
	// there may have been more (a Kafka fetch proves no more than that).
	LogRead = 1
)

// partitionLog keeps the log end offset (LEO) alone as its state. That is enough because
// Prepare has compared all values already: every offset has one value, every value one offset,
// and only unknown appends that nobody saw may still stand at more than one place.
var partitionLog = Model{
	Name:    "partition_log",
	Prepare: prepareLog,
	Porcupine: porcupine.Model{
		Init:              func() interface{} { return int64(0) },
		Step:              stepLog,
		Hash:              func(state interface{}) uint64 { return hash64(state.(int64)) },
		DescribeOperation: describe,
		DescribeState:     func(state interface{}) string { return fmt.Sprintf("log end %d", state) },
	},
}

func stepLog(state, input, _ interface{}) (bool, interface{}) {
	end, op := state.(int64), input.(*Op)
	if op.Kind == LogAppend {
		if op.Status == Unknown || op.C == end {
			return true, end + int64(len(op.Vals))
		}
		return false, state
	}
	readTo := op.A + int64(len(op.Vals))
	if op.B == 1 {
		return readTo == end, state
	}
	return readTo <= end, state
}

// first is the offset of the first value of an operation.
func first(op *Op) int64 {
	if op.Kind == LogAppend {
		return op.C
	}
	return op.A
}

// theLog is what acknowledgements and reads say together.
type theLog struct {
	value  map[int64]int64 // offset -> value
	offset map[int64]int64 // value -> offset
	writer map[int64]*Op   // value -> its append
}

// prepareLog compares all values, then gives unknown appends that were seen their offset.
func prepareLog(ops []*Op) (Prepared, error) {
	log := theLog{map[int64]int64{}, map[int64]int64{}, map[int64]*Op{}}
	for _, op := range ops {
		if op.Kind != LogAppend && op.Kind != LogRead {
			return Prepared{}, errKind
		}
		if op.Kind != LogAppend {
			continue
		}
		if len(op.Vals) == 0 {
			return Prepared{}, errors.New("an append without values; the model needs one at least")
		}
		for _, value := range op.Vals {
			if _, twice := log.writer[value]; twice {
				return Prepared{}, fmt.Errorf("value %d is appended twice; the model "+
					"needs distinct values", value)
			}
			log.writer[value] = op
		}
	}
	isRead := func(op *Op) bool { return op.Kind == LogRead }
	ops = withoutUnknownReads(ops, isRead)
	refutation := log.learn(ops)
	if refutation != "" {
		return Prepared{Ops: ops, Shown: ops, Refutation: refutation}, nil
	}
	return log.pin(ops)
}

// learn enters every known (offset, value); the text says which contradiction it met, if any.
func (log theLog) learn(ops []*Op) string {
	for _, op := range ops {
		if op.Status == Unknown {
			continue
		}
		if first(op) < 0 {
			return fmt.Sprintf("operation %d names offset %d", op.Index, first(op))
		}
		for i, value := range op.Vals {
			if problem := log.enter(first(op)+int64(i), value); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func (log theLog) enter(offset, value int64) string {
	if offset < 0 {
		return fmt.Sprintf("value %d is at offset %d", value, offset)
	}
	if other, known := log.value[offset]; known && other != value {
		return fmt.Sprintf("offset %d holds both %d and %d", offset, other, value)
	}
	if other, known := log.offset[value]; known && other != offset {
		return fmt.Sprintf("value %d is at offsets %d and %d", value, other, offset)
	}
	if log.writer[value] == nil {
		return fmt.Sprintf("value %d at offset %d was never appended", value, offset)
	}
	log.value[offset], log.offset[value] = value, offset
	return ""
}

// pin turns unknown appends into known ones where a read revealed their offset.
//
// An unknown append that nobody saw is dropped if it is known what stands at every offset below the
// highest that any operation speaks of: it can then only stand at the very end, where it disturbs
// nobody. Else it stays.
func (log theLog) pin(ops []*Op) (Prepared, error) {
	pinned := map[*Op]*Op{}
	for _, op := range ops {
		if op.Kind != LogAppend || op.Status != Unknown {
			continue
		}
		for i, value := range op.Vals {
			offset, seen := log.offset[value]
			if !seen {
				continue
			}
			copied := *op
			copied.Status, copied.C = OK, offset-int64(i)
			pinned[op] = &copied
			break
		}
	}
	for _, op := range pinned {
		for i, value := range op.Vals {
			if problem := log.enter(op.C+int64(i), value); problem != "" {
				return Prepared{Ops: ops, Shown: ops, Refutation: problem}, nil
			}
		}
	}
	return log.withDeadlines(ops, pinned), nil
}

// withDeadlines builds the final lists.
//
// A known append ends, at the latest, with the first operation to return that proves a log longer
// than its offset. That says all that a read with b = 0 can say, so the search goes without those
// reads: it need not try them in every order.
func (log theLog) withDeadlines(ops []*Op, pinned map[*Op]*Op) Prepared {
	until := deadlines(ops)
	prepared := Prepared{}
	gap, hasGap := log.gap(ops, pinned)
	if hasGap && !hasUnplaced(ops, pinned) {
		prepared.Refutation = fmt.Sprintf("nothing was appended at offset %d", gap)
		hasGap = false
	}
	for _, op := range ops {
		known := op
		if op.Kind == LogAppend && op.Status == Unknown {
			known = pinned[op]
		}
		switch {
		case known == nil && !hasGap:
			continue
		case known == nil:
			prepared.add(op, op)
		case known.Kind == LogRead && known.B == 0 && !hasGap:
			prepared.add(known, nil)
		case known.Kind == LogRead:
			prepared.add(known, known)
		default:
			bounded := *known
			bounded.Return = min(known.Return, until(known.C))
			if bounded.Return < bounded.Call {
				prepared.Refutation = fmt.Sprintf("the log reached past offset %d before the "+
					"append of what is there was called", known.C)
			}
			prepared.add(known, &bounded)
		}
	}
	return prepared
}

// gap is the lowest offset below the highest spoken of where nobody knows what stands, if any.
func (log theLog) gap(ops []*Op, pinned map[*Op]*Op) (int64, bool) {
	highest := int64(0)
	for _, op := range ops {
		if known := pinned[op]; known != nil {
			op = known
		}
		if op.Status != Unknown {
			highest = max(highest, first(op)+int64(len(op.Vals)))
		}
	}
	for offset := int64(0); offset < highest; offset++ {
		if _, known := log.value[offset]; !known {
			return offset, true
		}
	}
	return 0, false
}

// hasUnplaced is whether an append of unknown outcome was seen nowhere.
func hasUnplaced(ops []*Op, pinned map[*Op]*Op) bool {
	for _, op := range ops {
		if op.Kind == LogAppend && op.Status == Unknown && pinned[op] == nil {
			return true
		}
	}
	return false
}

// deadlines answers: when, at the latest, was the record at this offset in the log?
func deadlines(ops []*Op) func(offset int64) int64 {
	type proof struct{ last, at int64 }
	var proofs []proof
	for _, op := range ops {
		// A read of nothing at offset a proves a log as long as a.
		last := first(op) + int64(len(op.Vals)) - 1
		if op.Status != Unknown && last >= 0 {
			proofs = append(proofs, proof{last, op.Return})
		}
	}
	sort.Slice(proofs, func(i, j int) bool { return proofs[i].last < proofs[j].last })
	earliest := Never
	for i := len(proofs) - 1; i >= 0; i-- {
		earliest = min(earliest, proofs[i].at)
		proofs[i].at = earliest
	}
	return func(offset int64) int64 {
		i := sort.Search(len(proofs), func(i int) bool { return proofs[i].last >= offset })
		if i == len(proofs) {
			return Never
		}
		return proofs[i].at
	}
}
