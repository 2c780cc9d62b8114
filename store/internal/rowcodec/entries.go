package rowcodec

import (
	"fmt"

	"fleetglass/dlqtriage"
)

// AppendEntry appends an entry without its id, which its key gives, and its revision.
func AppendEntry(b []byte, e *dlqtriage.Entry) []byte { return written((*entryRow)(e).MarshalMsg(b)) }

// Entry reads what AppendEntry wrote.
func Entry(b []byte) (dlqtriage.Entry, error) {
	var e dlqtriage.Entry
	if err := read((*entryRow)(&e).UnmarshalMsg(b)); err != nil {
		return dlqtriage.Entry{}, fmt.Errorf("read entry: %w", err)
	}
	e.ID = dlqtriage.EntryID(e.Key)
	return e, nil
}

// AppendFollowUp appends what is known of a message that follows a dead one, without naming that one.
func AppendFollowUp(b []byte, f *dlqtriage.FollowUp) []byte {
	return written((*followUpRow)(f).MarshalMsg(b))
}

// FollowUp reads what AppendFollowUp wrote.
func FollowUp(of string, b []byte) (dlqtriage.FollowUp, error) {
	f := dlqtriage.FollowUp{Of: of}
	if err := read((*followUpRow)(&f).UnmarshalMsg(b)); err != nil {
		return dlqtriage.FollowUp{}, fmt.Errorf("read what follows %s: %w", of, err)
	}
	return f, nil
}
