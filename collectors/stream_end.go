package collectors

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// streamEnd is the last message of a stream when it was looked at, as the store keeps it.
type streamEnd struct {
	Epoch lifecycle.Micros `json:"epoch,omitempty"` // Of the incarnation.
	Seq   uint64           `json:"seq"`
	At    lifecycle.Micros `json:"at"` // When it was stored.

	unseen bool      // Only the store told it.
	told   uint64    // What the store was told last,
	toldAt time.Time // and when.
}

// endSavedEvery is how often the store is told where a stream ends, at most. Where a broker forgets what it stored within that time before Fleetglass ends, and as much
// comes again before the next look, nothing shows it.
const endSavedEvery = time.Second

// readEnds reads from the store where streams ended that were not looked at before. It must be called before the broker is asked: another replica may have told the store
// of a later message since.
func (n *IncarnationResolver) readEnds(ctx context.Context, names []string) error {
	for _, name := range names {
		if _, looked := n.ends[name]; looked {
			continue
		}
		end := streamEnd{unseen: true}
		if err := n.readMark(ctx, n.endMark(name), &end); err != nil {
			return err
		}
		end.told = end.Seq
		n.ends[name] = end
	}
	return nil
}

// noteEnd begins another incarnation of a stream that ends before the message that was its last one, or has another one under that number: the broker forgot what it
// had stored. The messages that are left are told as those of a stream that was restored from a backup: what their consumers knew of them may be forgotten too.
func (n *IncarnationResolver) noteEnd(ctx context.Context, name string, s streamState) error {
	if !s.created.Known() {
		delete(n.ends, name)
		return nil
	}
	known := n.known[name]
	epoch := known[len(known)-1].Epoch
	before := n.ends[name]
	if before.Epoch != epoch {
		before = streamEnd{Epoch: epoch}
	}
	forgot, err := n.forgot(ctx, name, before, s)
	if err != nil {
		return err
	}
	if forgot {
		return n.beginAfter(ctx, name, before, s)
	}
	end := streamEnd{Epoch: epoch, Seq: s.last.Seq, At: s.lastAt, told: before.told, toldAt: before.toldAt}
	if end.Seq != end.told && time.Since(end.toldAt) >= endSavedEvery {
		end.told, end.toldAt = end.Seq, time.Now()
		if err := n.save(ctx, map[string]any{n.endMark(name): end}, nil); err != nil {
			return fmt.Errorf("store the end of %s: %w", name, err)
		}
	}
	n.ends[name] = end
	return nil
}

func (n *IncarnationResolver) endMark(name string) string {
	return "end:" + n.cfg.Contract.StreamID(name).String()
}

// forgot reports whether the stream does not have its last message of before. Whether it has another one under that number is asked where the broker may have been
// started again since.
func (n *IncarnationResolver) forgot(ctx context.Context, name string, before streamEnd, s streamState) (bool, error) {
	restarted := before.unseen || n.reconnected
	if before.Seq == 0 || s.replicated || s.copiesOnly || s.last.Seq >= before.Seq && !restarted {
		return false, nil
	}
	return isForgotten(ctx, n.cfg.JetStream, name, s.last.Seq, before.Seq, before.At)
}

// beginAfter begins another incarnation behind what the broker forgot. What it stored since is younger than all that was seen. Another replica may have done so already.
func (n *IncarnationResolver) beginAfter(ctx context.Context, name string, before streamEnd, s streamState) error {
	stored, err := n.read(ctx, n.mark(name))
	if err != nil {
		return err
	}
	if len(stored) > len(n.known[name]) {
		n.known[name] = stored
		delete(n.ends, name)
		return nil
	}
	next := Incarnation{Epoch: s.now, From: s.now, Created: s.created, Restored: s.last.Seq, Forgot: before.Seq}
	if s.lastAt > before.At {
		next.Epoch, next.From = before.At+1, before.At+1
		if next.Restored, err = n.restored(ctx, name, next.From); err != nil {
			return err
		}
	}
	incarnations := append(stored, next)
	end := streamEnd{Epoch: next.Epoch, Seq: s.last.Seq, At: s.lastAt, told: s.last.Seq, toldAt: time.Now()}
	if err := n.save(ctx, map[string]any{n.mark(name): incarnations, n.endMark(name): end}, incarnations.CameBack(name)); err != nil {
		return fmt.Errorf("store incarnations of %s: %w", name, err)
	}
	n.known[name], n.ends[name] = incarnations, end
	return nil
}

// save stores what is to be remembered, by its marks.
func (n *IncarnationResolver) save(ctx context.Context, marks map[string]any, gaps []lifecycle.Gap) error {
	b := lifecycle.Batch{Watermarks: map[string]string{}, Gaps: gaps}
	for mark, what := range marks {
		text, err := json.Marshal(what)
		if err != nil {
			return fmt.Errorf("encode %s: %w", mark, err)
		}
		b.Watermarks[mark] = string(text)
	}
	_, err := n.cfg.Appender.Append(ctx, b)
	return err
}
