package models

// Kinds of the committed offset: a group's generation and one partition's offset, -1 at first.
const (
	OffsetGeneration = 0 // c: the generation that begins
	OffsetCommit     = 1 // a: offset, b: generation, c: Accepted or Fenced
	OffsetFetch      = 2 // c: the offset answered
)

var committedOffset = coordinator("committed_offset", numbered{0, -1},
	func(op *Op) bool { return op.Kind == OffsetFetch }, stepCommittedOffset)

func stepCommittedOffset(s numbered, op *Op) (bool, numbered) {
	switch op.Kind {
	case OffsetGeneration:
		return begin(s, op, s.value)
	case OffsetFetch:
		return op.C == s.value, s
	}
	if op.B == s.number {
		return op.Status == Unknown || op.C == Accepted, numbered{s.number, op.A}
	}
	return op.Status == Unknown || op.C == Fenced, s
}
