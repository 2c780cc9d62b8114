package idempotency

import (
	"context"
	"sync"
	"time"

	"cloud.google.com/go/firestore"

	"fleetglass/lifecycle"
)

// feed is the documents of one source whose times are of one type, in the order of time: what a listener tells and a poll verifies.
type feed struct {
	*Firestore
	client *firestore.Client
	source source
	scale  scale

	listened position // Of the listener. Only its goroutine writes it.
	polled   position // Of the polls, likewise.
	heard    bool     // A listener has told its first result.

	mu      sync.Mutex
	told    map[string]known  // By path: what listeners told, from the lower bound of the last one on.
	from    lifecycle.Micros  // The lower bound of the open listener.
	began   time.Time         // When it was opened, by our clock; zero while none is open.
	restart func(cause error) // Ends it.
}

// position is how far a way of reading has come.
type position struct {
	At   lifecycle.Micros `json:"at"`             // The latest time of a document, but never later than Firestore's own time when it was read.
	Done lifecycle.Micros `json:"done,omitempty"` // When the last poll ended, by our clock.
}

// reach moves the position to a document.
func (p *position) reach(at lifecycle.Micros, d document) { p.At = max(p.At, min(at, d.read)) }

// known is what a listener told about a document.
type known struct {
	at      lifecycle.Micros // Its place in the order.
	updated lifecycle.Micros
	last    document
}

func (d *feed) name() string { return d.source.collection + " by " + d.scale.name }
func (d *feed) listenMark() string {
	return d.cfg.mark(d.source.collection + ":" + d.scale.name + ":listener")
}
func (d *feed) pollMark() string {
	return d.cfg.mark(d.source.collection + ":" + d.scale.name + ":poll")
}

// restore reads the positions. Where there is none the page gets one: now, by Firestore's clock.
func (d *feed) restore(ctx context.Context, now lifecycle.Micros, p *page) error {
	for name, at := range map[string]*position{d.listenMark(): &d.listened, d.pollMark(): &d.polled} {
		ok, err := d.recall(ctx, name, at)
		if err != nil {
			return err
		}
		if !ok {
			*at = position{At: now, Done: lifecycle.MicrosOf(d.cfg.Now())}
			if err := p.mark(name, *at); err != nil {
				return err
			}
		}
	}
	return nil
}

// since selects the documents from a time on, in order.
func (d *feed) since(from lifecycle.Micros) firestore.Query {
	return d.source.query(d.client).Where(d.source.field, ">=", d.scale.value(from)).OrderBy(d.source.field, firestore.Asc)
}

// place is where a document stands in the order; ok is false where it is not of the feed's type.
func (d *feed) place(x document) (at lifecycle.Micros, ok bool) {
	return d.scale.read(x.fields[d.source.field])
}

// missed reports whether the open listener should have told this document for a while, and did not.
func (d *feed) missed(x document) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.place(x)
	if !ok || at < d.from || d.began.IsZero() || d.cfg.Now().Sub(d.began) < d.cfg.Patience || x.read.Sub(x.updated) < d.cfg.Patience {
		return false
	}
	return d.told[x.path].updated < x.updated
}
