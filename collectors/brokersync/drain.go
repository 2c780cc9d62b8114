package brokersync

import (
	"slices"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// marksKept bounds the moments that are remembered until the collectors have caught up with them.
const marksKept = 128

// Drain knows up to when the lines of one capture stream are stored: the latest moment whose lines the durable has acknowledged since.
// A line is acknowledged after it was committed. The broker's count of pending lines does not serve, because it lags.
type Drain struct {
	UpTo    lifecycle.Micros // Everything that was captured up to then is stored; zero when not known.
	Missing bool             // The capture stream does not exist. It holds nothing back.
	marks   []mark
}

// mark is where a stream ended at one moment.
type mark struct {
	at  lifecycle.Micros
	seq uint64
}

// advance is the drain after one more observation of the capture stream. now is the time that a missing stream counts as drained up to.
func (d Drain) advance(e CaptureEnd, now lifecycle.Micros) Drain {
	d.Missing = e.Missing
	switch {
	case e.Missing:
		d.UpTo, d.marks = now, nil
	case !e.Unread:
		d = d.note(e)
	}
	return d
}

// note adds where the stream ends and takes away what is stored. Lines that were discarded before they were read are never
// acknowledged: when the durable is idle, whatever has been there for a while is stored or gone.
func (d Drain) note(e CaptureEnd) Drain {
	if d.marks = slices.Clip(d.marks); len(d.marks) < marksKept {
		d.marks = append(d.marks, mark{at: e.At, seq: e.LastSeq})
	}
	for len(d.marks) > 0 && (d.marks[0].seq <= e.Floor || (e.waitsNot(d.marks[0].seq) && d.marks[0].at.Add(fleet.LateCount) <= e.At)) {
		d.UpTo, d.marks = max(d.UpTo, d.marks[0].at), d.marks[1:]
	}
	return d
}

// waitsNot reports whether no line up to this one waits, as the broker counts them.
func (e CaptureEnd) waitsNot(seq uint64) bool { return e.Idle || seq <= e.Busy }

// unseen is when nothing was captured, as far as is seen: before the capture stream was created, and while it is missing.
func (e CaptureEnd) unseen() []lifecycle.Gap {
	switch {
	case e.Missing:
		return []lifecycle.Gap{{Source: e.Stream}}
	case e.Created.Known():
		return []lifecycle.Gap{{Source: e.Stream, To: e.Created}}
	}
	return nil
}

// CaptureProgress is how far the lines of the capture streams are stored.
type CaptureProgress struct{ Acks, Advisories, Publishes Drain }

func (p CaptureProgress) advance(c Capture, now lifecycle.Micros) CaptureProgress {
	return CaptureProgress{
		Acks: p.Acks.advance(c.Acks, now), Advisories: p.Advisories.advance(c.Advisories, now), Publishes: p.Publishes.advance(c.Publishes, now),
	}
}

// answers is the time up to which every captured acknowledgement and advisory is stored.
func (p CaptureProgress) answers() lifecycle.Micros { return min(p.Acks.UpTo, p.Advisories.UpTo) }

// missing says which capture stream does not exist, or does not record what concerns the stream; empty when all do.
func (c Capture) missing() string {
	for _, e := range []CaptureEnd{c.Acks, c.Advisories, c.Publishes} {
		switch {
		case e.Uncovered:
			return e.Stream + " does not record it"
		case e.Missing:
			return e.Stream + " does not exist"
		}
	}
	return ""
}
