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

// explainFor bounds the time of one attempt to explain.
const explainFor = 2 * time.Second

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

// Partition searches one partition until the deadline. What it prepared is for Explain.
func Partition(model models.Model, ops []*models.Op, deadline time.Time) (Line, models.Prepared) {
	started := time.Now()
	line := Line{Key: ops[0].Key, Operations: len(ops), Order: []int{}, Blocked: []int{}}
	prepared, err := model.Prepare(ops)
	if err != nil {
		line.Verdict, line.Message = "unknown", err.Error()
	} else if prepared.Refutation != "" {
		line.Verdict, line.Message = "invalid", prepared.Refutation
	} else {
		line.Verdict, line.Message = search(model, operations(prepared.Ops), deadline)
	}
	line.Micros = time.Since(started).Microseconds()
	return line, prepared
}

// search gives the verdict, and why it is unknown if it is.
func search(model models.Model, history []porcupine.Operation,
	deadline time.Time) (string, string) {
	result := porcupine.Unknown
	if left := time.Until(deadline); left > 0 {
		result = porcupine.CheckOperationsTimeout(model.Porcupine, history, left)
	}
	switch result {
	case porcupine.Ok:
		return "valid", ""
	case porcupine.Illegal:
		return "invalid", ""
	default:
		return "unknown", "no answer within the time limit"
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
			Metadata: op.Detail(),
		}
	}
	return history
}

// Explain searches an invalid partition again, keeping the longest orders found, and draws it if
// asked. It takes more memory than the search: write down the verdict before.
func Explain(line *Line, model models.Model, prepared models.Prepared,
	request Request, deadline time.Time, draw bool) {
	if len(prepared.Ops) > detailLimit || len(prepared.Shown) > detailLimit {
		line.Message += fmt.Sprintf(" (not explained or drawn: more than %d operations)", detailLimit)
		return
	}
	// What is shown may take far longer to search than what was searched.
	for _, ops := range [][]*models.Op{prepared.Shown, prepared.Ops} {
		left := min(time.Until(deadline), explainFor)
		if ops == nil || left <= 0 {
			continue
		}
		history := operations(ops)
		result, info := porcupine.CheckOperationsVerbose(model.Porcupine, history, left)
		if result == porcupine.Unknown {
			continue
		}
		line.Order, line.Blocked = stuckAt(history, longest(info))
		if draw {
			line.Html = drawing(line, model, info, request)
		}
		return
	}
	line.Message += " (no time left to explain it)"
}

func drawing(line *Line, model models.Model, info porcupine.LinearizationInfo,
	request Request) *string {
	info.AddAnnotations(annotations(request.Annotations))
	var page bytes.Buffer
	if err := porcupine.Visualize(model.Porcupine, info, &page); err != nil {
		line.Message += " (cannot be drawn: " + err.Error() + ")"
		return nil
	}
	text := page.String()
	return &text
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
