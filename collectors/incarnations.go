package collectors

import (
	"fmt"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// Incarnation is one incarnation of a stream, from its creation to its deletion.
type Incarnation struct {
	Epoch   lifecycle.Micros `json:"epoch,omitempty"`   // As in [lifecycle.StreamID]: zero for the first incarnation known.
	From    lifecycle.Micros `json:"from,omitempty"`    // Messages stored at or after this time belong to it; zero for the first.
	Created lifecycle.Micros `json:"created,omitempty"` // As the stream's own state said; zero when it was never seen alive.
	Deleted lifecycle.Micros `json:"deleted,omitempty"` // As an advisory said; zero when none did.

	Restored uint64 `json:"restored,omitempty"` // Up to this sequence its messages are older than itself: a backup brought them, or the broker had them before it forgot others.
	Forgot   uint64 `json:"forgot,omitempty"`   // The last sequence of the incarnation before, where the broker forgot what followed Restored; zero where it did not.
	Back     uint64 `json:"back,omitempty"`     // How many messages at least it has again that had left the incarnation before, where the broker forgot that; zero where it did not.
}

// Incarnations are the incarnations of one stream, oldest first.
type Incarnations []Incarnation

// EpochAt is the epoch of the incarnation at that time, zero when no incarnation is known.
func (l Incarnations) EpochAt(at lifecycle.Micros) lifecycle.Micros {
	for i := len(l) - 1; i > 0; i-- {
		if l[i].From <= at {
			return l[i].Epoch
		}
	}
	return 0
}

// EpochOfAnswer is the epoch of the incarnation that an answer is about which was sent at a time: it is about the message with a sequence that was stored at
// another time. A restored incarnation has messages of the one before it, and whoever lives when the answer is sent takes it.
func (l Incarnations) EpochOfAnswer(seq uint64, stored, sent lifecycle.Micros) lifecycle.Micros {
	for i := len(l) - 1; i > 0; i-- {
		if l[i].From <= sent && seq <= l[i].Restored {
			return l[i].Epoch
		}
		if l[i].From <= stored {
			return l[i].Epoch
		}
	}
	return 0
}

// CameBack says, where the living incarnation was restored from a backup, which messages are given to workers again. Nothing is missing because of that.
func (l Incarnations) CameBack(name string) []lifecycle.Gap {
	if len(l) == 0 || l[len(l)-1].Restored+l[len(l)-1].Forgot == 0 {
		return nil
	}
	last := l[len(l)-1]
	switch {
	case last.Back > 0:
		return []lifecycle.Gap{{
			Source: "memory of " + name, From: last.From - 1, To: last.From, Repaired: true,
			Reason: fmt.Sprintf("the broker forgot that messages had left %s, and %d at least are there again: its host lost power, or was set back. What it has is told as messages of its own, "+
				"because it may have forgotten what was done with them", name, last.Back),
		}}
	case last.Forgot > 0:
		return []lifecycle.Gap{{
			Source: "memory of " + name, From: last.From - 1, To: last.From, Repaired: true,
			Reason: fmt.Sprintf("the broker forgot messages of %s, from %d to %d at least, and gives their numbers to others: its host lost power, or was set back. What it still has is told as messages of its own, "+
				"because it may have forgotten what was done with them", name, last.Restored+1, last.Forgot),
		}}
	}
	return []lifecycle.Gap{{
		Source: "backup of " + name, From: min(last.From, last.Created-1), To: last.Created, Repaired: true,
		Reason: fmt.Sprintf("%s was restored from a backup: workers are given what it holds up to %d, also what was done since the backup", name, last.Restored),
	}}
}

// cameBackUnseen reports whether the living incarnation has a message that is older than itself, and it is not known up to where a backup brought them. While a
// stream is being restored it may show without messages.
func (l Incarnations) cameBackUnseen(live, first lifecycle.Micros) bool {
	last := len(l) - 1
	return last > 0 && first.Known() && first < live && l[last].Restored == 0
}

// advisoryLag is how much later than the creation of a stream the advisories of that creation, and of the deletion before it, may be
// dated: they may come from different servers.
const advisoryLag = time.Second

// StreamAction is an advisory that a stream was created or deleted.
type StreamAction struct {
	At      lifecycle.Micros
	Created bool // False for deleted.
}

// Learn returns the incarnations after the given advisories, in time order, and the creation time that the stream's state shows now (zero
// when the stream does not exist). Learning the same again changes nothing. A creation without a deletion before it is left to the
// stream's state: the advisory of the creation of a incarnation comes a little after its creation time. What an advisory says of the time
// after the living stream was created cannot be: whoever may publish can send such a line, and the stream's state contradicts it.
func (l Incarnations) Learn(actions []StreamAction, live lifecycle.Micros) Incarnations {
	out := slices.Clone(l)
	for _, a := range actions {
		if live.Known() && a.At > live.Add(advisoryLag) {
			continue
		}
		if a.Created {
			out = out.created(a.At)
		} else {
			out = out.deleted(a.At)
		}
	}
	if live.Known() {
		out = out.alive(live)
	}
	return out
}

// after are the incarnations of a stream of which a message is known that was captured before the living one was created, although no advisory told that another one was
// deleted: a broker may lose that advisory, and what captured it may be gone.
func (l Incarnations) after(captured, live lifecycle.Micros) Incarnations {
	if len(l) != 1 || !captured.Known() || captured.Add(advisoryLag) >= live {
		return l
	}
	return Incarnations{{}, {Epoch: live, From: live, Created: live}}
}

func (l Incarnation) start() lifecycle.Micros {
	if l.Created.Known() {
		return l.Created
	}
	return l.Epoch
}

// before is the index of the last incarnation that had begun at that time, or -1.
func (l Incarnations) before(at lifecycle.Micros) int {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].start() <= at {
			return i
		}
	}
	return -1
}

func (l Incarnations) deleted(at lifecycle.Micros) Incarnations {
	if len(l) == 0 {
		return Incarnations{{Deleted: at}}
	}
	if slices.ContainsFunc(l, func(known Incarnation) bool { return known.Deleted == at }) {
		return l
	}
	if i := l.before(at); i >= 0 && !l[i].Deleted.Known() {
		l[i].Deleted = at
	}
	return l
}

func (l Incarnations) created(at lifecycle.Micros) Incarnations {
	if len(l) == 0 {
		return Incarnations{{}}
	}
	last := l[len(l)-1]
	if last.Deleted.Known() && last.Deleted <= at {
		return append(l, Incarnation{Epoch: at, From: last.Deleted + 1})
	}
	return l
}

func (l Incarnations) alive(created lifecycle.Micros) Incarnations {
	if len(l) == 0 {
		return Incarnations{{Created: created}}
	}
	i := len(l) - 1
	last := &l[i]
	switch {
	case last.Created == created:
	case !last.Created.Known() && (!last.Deleted.Known() || created < last.Deleted) && (i == 0 || created <= last.Epoch):
		last.Created = created
		if i > 0 {
			last.Epoch, last.From = created, min(last.From, created)
		}
	case created > last.start():
		from := created
		if last.Deleted.Known() {
			from = min(from, last.Deleted+1)
		}
		return append(l, Incarnation{Epoch: created, From: from, Created: created})
	}
	return l
}
