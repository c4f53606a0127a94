package models

// Kinds of the leader epoch: a partition's epoch and leader, 0 and -1 at first.
const (
	EpochElect = 0 // a: the leader elected, c: its epoch
	EpochRead  = 1 // a: leader, c: epoch, as answered
	EpochCheck = 2 // a: the epoch given, c: Accepted or Fenced
)

var leaderEpoch = coordinator("leader_epoch", numbered{0, -1},
	func(op *Op) bool { return op.Kind != EpochElect }, stepLeaderEpoch)

func stepLeaderEpoch(s numbered, op *Op) (bool, numbered) {
	switch op.Kind {
	case EpochElect:
		return begin(s, op, op.A)
	case EpochRead:
		return op.C == s.number && op.A == s.value, s
	default:
		return (op.C == Accepted) == (op.A == s.number), s
	}
}
