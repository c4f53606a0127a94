// Package models holds the sequential specifications that a history is compared with.
//
// One file per model. A model is a row of All; the Python side names it by its Name.
package models

import (
	"errors"
	"fmt"
	"html"
	"strings"

	"github.com/anishathalye/porcupine"
)

// How an operation ended, as its client knows it. Models give further numbers their own meaning.
const (
	OK      = 0 // happened, with the result that the columns carry
	Unknown = 1 // nobody knows: it may happen at any time after its call, or never
)

// Never is the return time of an operation that never returned.
const Never = int64(1) << 62

// Op is one operation: a row of the columns that came in. Each model says what Kind, A, B, C and
// Vals mean to it.
type Op struct {
	Index                     int
	Call, Return, Client, Key int64
	Kind, A, B, C, Status     int64
	Vals                      []int64
	Label                     string
}

// Prepared is what a model makes of the operations of one partition before the search.
type Prepared struct {
	// Ops are searched. Shown, unless nil, are drawn and explained instead; their verdict is the
	// same.
	Ops, Shown []*Op
	// Refutation is not empty if no order can explain the operations.
	Refutation string
}

// add enters one operation as it is shown and, unless nil, as it is searched.
func (p *Prepared) add(shown, searched *Op) {
	p.Shown = append(p.Shown, shown)
	if searched != nil {
		p.Ops = append(p.Ops, searched)
	}
}

// Model is one sequential specification.
type Model struct {
	Name      string
	Porcupine porcupine.Model
	// Prepare may drop operations that constrain nothing and pin unknown results that other
	// operations reveal. An error means that the operations are outside the model's language.
	Prepare func(ops []*Op) (Prepared, error)
}

// All is the registry.
var All = []Model{
	partitionLog,
	register,
	transaction,
	committedOffset,
	leaderEpoch,
}

// ByName finds a model or says which there are.
func ByName(name string) (Model, error) {
	names := make([]string, len(All))
	for i, model := range All {
		if model.Name == name {
			return model, nil
		}
		names[i] = model.Name
	}
	return Model{}, fmt.Errorf("no model %q; there are: %s", name, strings.Join(names, ", "))
}

var errKind = errors.New("operation of a kind that the model does not have")

// withoutUnknownReads drops reads whose result nobody knows: they constrain nothing.
func withoutUnknownReads(ops []*Op, isRead func(*Op) bool) []*Op {
	kept := make([]*Op, 0, len(ops))
	for _, op := range ops {
		if op.Status != Unknown || !isRead(op) {
			kept = append(kept, op)
		}
	}
	return kept
}

// Detail is what the drawing says of an operation to whoever points at it: all of its label but the
// first line. (It is put into the page as HTML.)
func (op *Op) Detail() string {
	_, detail, _ := strings.Cut(op.Label, "\n")
	return html.EscapeString(detail)
}

// describe is the text of an operation in the drawing: the first line of its label, or its numbers.
// The drawing makes every box as wide as its text, so it should be short.
func describe(input, _ interface{}) string {
	op := input.(*Op)
	if short, _, _ := strings.Cut(op.Label, "\n"); short != "" {
		return short
	}
	return fmt.Sprintf("kind %d a=%d b=%d c=%d %v status %d",
		op.Kind, op.A, op.B, op.C, op.Vals, op.Status)
}

// hash64 spreads small integers over 64 bits (the constant is 2^64 divided by the golden ratio).
func hash64(value int64) uint64 { return uint64(value) * 0x9E3779B97F4A7C15 }
