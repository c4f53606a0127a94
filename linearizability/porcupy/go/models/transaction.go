package models

// Kinds of the transaction: a transactional id's epoch and the state of its transaction. The epoch
// stays when a transaction ends (transaction version 1; KIP-890 begins one with each transaction).
const (
	TransactionInit   = 0 // c: the epoch returned; ends what is ongoing
	TransactionSend   = 1 // a: epoch, c: a result
	TransactionCommit = 2 // a: epoch, c: a result
	TransactionAbort  = 3 // a: epoch, c: a result
)

// States of a transaction.
const (
	empty = iota
	ongoing
	committed
	aborted
)

var transaction = coordinator("transaction", numbered{-1, empty},
	func(*Op) bool { return false }, stepTransaction)

func stepTransaction(s numbered, op *Op) (bool, numbered) {
	if op.Kind == TransactionInit {
		return begin(s, op, empty)
	}
	after, allowed := afterTransaction(s.value, op.Kind)
	result := int64(Accepted)
	switch {
	case op.A != s.number:
		result = Fenced
	case !allowed:
		result = BadState
	}
	if result == Accepted {
		return op.Status == Unknown || op.C == result, numbered{s.number, after}
	}
	return op.Status == Unknown || op.C == result, s
}

// afterTransaction is the table of states: an end may be asked for again, with the same result.
func afterTransaction(state, kind int64) (int64, bool) {
	switch kind {
	case TransactionSend:
		return ongoing, true
	case TransactionCommit:
		return committed, state == ongoing || state == committed
	default:
		return aborted, state == ongoing || state == aborted
	}
}
