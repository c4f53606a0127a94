package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// Results (column c) of what a coordinator accepts or refuses.
const (
	Fenced   = 0 // refused: the epoch or generation given is not the current one
	Accepted = 1
	BadState = 2 // refused: the epoch is current, but the state does not allow it
)

// numbered is the state of the three models: a number that grows, and what goes with it.
type numbered struct{ number, value int64 }

func coordinator(
	name string, first numbered, isRead func(*Op) bool, step func(numbered, *Op) (bool, numbered),
) Model {
	return Model{
		Name: name,
		Prepare: func(ops []*Op) (Prepared, error) {
			for _, op := range ops {
				if op.Kind < 0 || op.Kind > 3 || (op.Kind == 3 && name != "transaction") {
					return Prepared{}, errKind
				}
			}
			return Prepared{Ops: withoutUnknownReads(ops, isRead)}, nil
		},
		Porcupine: porcupine.Model{
			Init: func() interface{} { return first },
			Step: func(state, input, _ interface{}) (bool, interface{}) {
				return step(state.(numbered), input.(*Op))
			},
			Hash: func(state interface{}) uint64 {
				s := state.(numbered)
				return hash64(s.number+1) ^ hash64(hash64Signed(s.value))
			},
			DescribeOperation: describe,
			DescribeState: func(state interface{}) string {
				s := state.(numbered)
				return fmt.Sprintf("%d: %d", s.number, s.value)
			},
		},
	}
}

func hash64Signed(value int64) int64 { return int64(hash64(value+3) >> 1) }

// begin is what raises the number: to the one answered, or, where nobody knows, to the next.
func begin(s numbered, op *Op, value int64) (bool, numbered) {
	if op.Status == Unknown {
		return true, numbered{s.number + 1, value}
	}
	return op.C > s.number, numbered{op.C, value}
}
