package check

import (
	"bytes"
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"touchstone/porcupy/models"
)

// detailLimit bounds the operations of a partition that is searched a second time to explain
// itself, and drawn: the explanation takes O(n²) memory and nobody reads a larger drawing.
const detailLimit = 2000

// Line is the verdict on one partition, written as one line of JSON.
type Line struct {
	Key        int64   `json:"key"`
	Verdict    string  `json:"verdict"` // valid, invalid, unknown
	Operations int     `json:"operations"`
	Micros     int64   `json:"micros"`
	Message    string  `json:"message"`
	Order      []int   `json:"order"`   // longest linearization found
	Blocked    []int   `json:"blocked"` // what could not follow it, the first to return first
	Html       *string `json:"html,omitempty"`
}

// Partitions groups operations by key, smallest key first.
func Partitions(ops []models.Op) [][]*models.Op {
	byKey := map[int64][]*models.Op{}
	for i := range ops {
		byKey[ops[i].Key] = append(byKey[ops[i].Key], &ops[i])
	}
	keys := make([]int64, 0, len(byKey))
	for key := range byKey {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	groups := make([][]*models.Op, len(keys))
	for i, key := range keys {
		groups[i] = byKey[key]
	}
	return groups
}

// Partition searches one partition until the deadline; draw asks for a drawing if it is invalid.
func Partition(model models.Model, ops []*models.Op, request Request,
	deadline time.Time, draw bool) (line Line) {
	started := time.Now()
	line = Line{Key: ops[0].Key, Operations: len(ops), Order: []int{}, Blocked: []int{}}
	defer func() {
		line.Micros = time.Since(started).Microseconds()
	}()
	prepared, err := model.Prepare(ops)
	if err != nil {
		line.Verdict, line.Message = "unknown", err.Error()
		return line
	}
	line.Verdict, line.Message = "invalid", prepared.Refutation
	history := operations(prepared.Ops)
	if prepared.Refutation == "" {
		result, late := search(model, history, deadline)
		line.Verdict = result
		if late {
			line.Message = "no answer within the time limit"
		}
	}
	if line.Verdict == "invalid" {
		explain(&line, model, history, request, deadline, draw)
	}
	return line
}

func search(model models.Model, history []porcupine.Operation, deadline time.Time) (string, bool) {
	left := time.Until(deadline)
	if left <= 0 {
		return "unknown", true
	}
	switch porcupine.CheckOperationsTimeout(model.Porcupine, history, left) {
	case porcupine.Ok:
		return "valid", false
	case porcupine.Illegal:
		return "invalid", false
	default:
		return "unknown", true
	}
}

// operations converts for porcupine. What never returned returns after everything else did: the
// same to the search, and it keeps the drawing readable.
func operations(ops []*models.Op) []porcupine.Operation {
	end := int64(math.MinInt64)
	for _, op := range ops {
		end = max(end, op.Call)
		if op.Return < models.Never {
			end = max(end, op.Return)
		}
	}
	history := make([]porcupine.Operation, len(ops))
	for i, op := range ops {
		history[i] = porcupine.Operation{
			ClientId: int(op.Client), Input: op, Call: op.Call, Return: min(op.Return, end+1),
		}
	}
	return history
}

// explain searches again, keeping the longest orders found, and draws.
func explain(line *Line, model models.Model, history []porcupine.Operation,
	request Request, deadline time.Time, draw bool) {
	if len(history) > detailLimit {
		line.Message += fmt.Sprintf(" (not explained or drawn: more than %d operations)", detailLimit)
		return
	}
	left := time.Until(deadline)
	if left <= 0 {
		line.Message += " (no time left to explain it)"
		return
	}
	result, info := porcupine.CheckOperationsVerbose(model.Porcupine, history, left)
	if result == porcupine.Unknown {
		line.Message += " (no time left to explain it)"
		return
	}
	line.Order, line.Blocked = stuckAt(history, longest(info))
	if !draw {
		return
	}
	info.AddAnnotations(annotations(request.Annotations))
	var page bytes.Buffer
	if err := porcupine.Visualize(model.Porcupine, info, &page); err != nil {
		line.Message += " (cannot be drawn: " + err.Error() + ")"
		return
	}
	text := page.String()
	line.Html = &text
}

func longest(info porcupine.LinearizationInfo) []int {
	var best []int
	for _, partition := range info.PartialLinearizations() {
		for _, order := range partition {
			if len(order) > len(best) {
				best = order
			}
		}
	}
	return best
}

// stuckAt turns positions into operation numbers: the order, and what was waiting when it stopped,
// that is all operations called before the first one that had to be next returned.
func stuckAt(history []porcupine.Operation, order []int) ([]int, []int) {
	index := func(i int) int { return history[i].Input.(*models.Op).Index }
	placed := make([]bool, len(history))
	named, blocked := make([]int, len(order)), []int{}
	for i, position := range order {
		placed[position] = true
		named[i] = index(position)
	}
	var waiting []int
	for i := range history {
		if !placed[i] {
			waiting = append(waiting, i)
		}
	}
	sort.SliceStable(waiting, func(i, j int) bool {
		return history[waiting[i]].Return < history[waiting[j]].Return
	})
	for _, i := range waiting {
		if history[i].Call <= history[waiting[0]].Return {
			blocked = append(blocked, index(i))
		}
	}
	return named, blocked
}

func annotations(given []Annotation) []porcupine.Annotation {
	drawn := make([]porcupine.Annotation, len(given))
	for i, a := range given {
		drawn[i] = porcupine.Annotation{
			Tag: a.Tag, Start: a.Start, End: a.End, Description: a.Description,
			Details: a.Details, BackgroundColor: a.Colour,
		}
	}
	return drawn
}
