package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// Kinds of the register: one integer, 0 at first.
const (
	RegisterWrite          = 0 // a: the value written
	RegisterRead           = 1 // c: the value read
	RegisterCompareAndSwap = 2 // a: expected, b: new, c: 1 swapped, 0 found another value
)

var register = Model{
	Name: "register",
	Prepare: func(ops []*Op) (Prepared, error) {
		for _, op := range ops {
			if op.Kind < RegisterWrite || op.Kind > RegisterCompareAndSwap {
				return Prepared{}, errKind
			}
		}
		isRead := func(op *Op) bool { return op.Kind == RegisterRead }
		return Prepared{Ops: withoutUnknownReads(ops, isRead)}, nil
	},
	Porcupine: porcupine.Model{
		Init:              func() interface{} { return int64(0) },
		Step:              stepRegister,
		Hash:              func(state interface{}) uint64 { return hash64(state.(int64) + 1) },
		DescribeOperation: describe,
		DescribeState:     func(state interface{}) string { return fmt.Sprint(state) },
	},
}

func stepRegister(state, input, _ interface{}) (bool, interface{}) {
	value, op := state.(int64), input.(*Op)
	switch {
	case op.Kind == RegisterWrite:
		return true, op.A
	case op.Kind == RegisterRead:
		return op.C == value, state
	case op.Status == Unknown && value == op.A:
		return true, op.B
	case op.Status == Unknown:
		return true, state
	case op.C == 1:
		return value == op.A, op.B
	default:
		return value != op.A, state
	}
}
