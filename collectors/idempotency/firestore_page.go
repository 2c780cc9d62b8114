package idempotency

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"fleetglass/collectors"
	"fleetglass/lifecycle"
)

// page is what is stored at once: what documents say, and the positions that hold once it is stored.
type page struct {
	batch     lifecycle.Batch
	documents int
	ignored   int
}

// add adds what a document says to a page. What cannot be understood is quarantined. What was written before the time that the store
// keeps is left out, or it would come back with every sweep.
func (f *Firestore) add(p *page, s source, d document) {
	p.documents++
	if f.cfg.Keep > 0 && d.read.Sub(d.updated) > f.cfg.Keep {
		p.ignored++
		return
	}
	events := len(p.batch.Events)
	if err := try(s, d, &p.batch); err != nil {
		p.batch.Events = p.batch.Events[:events]
		p.batch.Quarantined = append(p.batch.Quarantined, d.quarantined(err.Error()))
	} else if len(p.batch.Events) == events {
		p.ignored++
	}
}

// try calls the decoder. A panic becomes an error: one hostile document must not stop the collector.
func try(s source, d document, into *lifecycle.Batch) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("decoder panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	return s.decode(d, into)
}

// mark adds a position.
func (p *page) mark(name string, position any) error {
	text, err := json.Marshal(position)
	if err != nil {
		return fmt.Errorf("encode position %s: %w", name, err)
	}
	if p.batch.Watermarks == nil {
		p.batch.Watermarks = map[string]string{}
	}
	p.batch.Watermarks[name] = string(text)
	return nil
}

// commit stores a page, once.
func (f *Firestore) commit(ctx context.Context, p *page) error {
	if p.batch.Empty() && p.documents == 0 {
		return nil
	}
	collectors.MakeStorable(&p.batch)
	done, err := f.cfg.Appender.Append(ctx, p.batch)
	if err != nil {
		return fmt.Errorf("store what firestore says: %w", err)
	}
	f.status.verified(f.cfg.Now())
	f.status.count(func(s *FirestoreStats) {
		s.Documents += uint64(p.documents)
		s.Ignored += uint64(p.ignored)
		s.Events += uint64(len(p.batch.Events))
		s.New += uint64(done.New)
		s.Quarantined += uint64(len(p.batch.Quarantined))
	})
	return nil
}

// recall reads a position; ok is false where there is none.
func (f *Firestore) recall(ctx context.Context, name string, position any) (ok bool, err error) {
	text, err := f.cfg.Watermarks.Watermark(ctx, name)
	if err != nil {
		return false, fmt.Errorf("read position %s: %w", name, err)
	}
	if text == "" {
		return false, nil
	}
	if err := json.Unmarshal([]byte(text), position); err != nil {
		return false, fmt.Errorf("decode position %s, %q: %w", name, text, err)
	}
	return true, nil
}
