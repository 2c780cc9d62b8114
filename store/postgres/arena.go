package postgres

// arena keeps many short values in few pieces of memory.
type arena struct{ free []byte }

const (
	arenaPiece = 64 << 10
	arenaLow   = 4 << 10 // With less than this a new piece is begun.
)

// add returns what fill appends, never nil. It stays as it is when more is added.
func (a *arena) add(fill func([]byte) []byte) []byte {
	if cap(a.free) < arenaLow {
		a.free = make([]byte, 0, arenaPiece)
	}
	value := fill(a.free)
	if len(value) > cap(a.free) {
		return value // It did not fit and was moved.
	}
	a.free = value[len(value):]
	return value[:len(value):len(value)]
}

// bytesOf never is NULL.
func bytesOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
