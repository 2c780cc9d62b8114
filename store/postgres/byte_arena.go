package postgres

// byteArena keeps many short values in a few blocks of memory.
type byteArena struct{ free []byte }

const (
	byteArenaPiece = 64 << 10
	byteArenaLow   = 4 << 10 // With less than this a new piece is begun.
)

// add returns what fill appends, never nil. It stays as it is when more is added.
func (a *byteArena) add(fill func([]byte) []byte) []byte {
	if cap(a.free) < byteArenaLow {
		a.free = make([]byte, 0, byteArenaPiece)
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
