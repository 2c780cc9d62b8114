package collectors

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// streamEnd is where a stream ended when it was looked at, and how many messages it had, as the store keeps it.
type streamEnd struct {
	Epoch lifecycle.Micros `json:"epoch,omitempty"` // Of the incarnation.
	Seq   uint64           `json:"seq"`             // Of its last message,
	At    lifecycle.Micros `json:"at"`              // which was stored then.
	Msgs  uint64           `json:"msgs,omitempty"`
	Seen  lifecycle.Micros `json:"seen,omitempty"` // When the broker said so; zero where only the last message is known.

	unseen bool      // Only the store told it.
	told   holding   // What the store was told last,
	toldAt time.Time // and when.
}

// holding is up to which sequence a stream goes, and how many messages it has.
type holding struct{ seq, msgs uint64 }

func (e streamEnd) holding() holding { return holding{e.Seq, e.Msgs} }

// back is how many messages at least a stream has again that had left it. No stream takes a message back, and each that came since has a sequence of its own: whatever
// it has more was forgotten to have left. One that a backup brings back, with messages older than itself, may have shown without them.
func (e streamEnd) back(s streamState) uint64 {
	beingRestored := e.Msgs == 0 && s.last.First < s.created
	if !e.Seen.Known() || s.last.Seq < e.Seq || beingRestored {
		return 0
	}
	most := e.Msgs + s.last.Seq - e.Seq
	return s.msgs - min(s.msgs, most)
}

// endSavedEvery is how often the store is told how a stream is, at most. Where a broker forgets what it stored within that time before Fleetglass ends, and as much
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
		end.told = end.holding()
		n.ends[name] = end
	}
	return nil
}

// noteEnd begins another incarnation of a stream that ends before the message that was its last one, that has another one under that number, or that has messages again
// which had left it: the broker forgot what it had stored. The messages that it has are told as those of a stream that was restored from a backup: what their consumers
// knew of them may be forgotten too.
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
	switch {
	case forgot:
		return n.beginAfter(ctx, name, before, s)
	case !s.replicated && !s.copiesOnly && before.back(s) > 0:
		return n.beginWith(ctx, name, before, s)
	}
	end := s.end(epoch)
	end.told, end.toldAt = before.told, before.toldAt
	if now := end.holding(); now != end.told && time.Since(end.toldAt) >= endSavedEvery {
		end.told, end.toldAt = now, time.Now()
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

// end is how a stream is, of an incarnation.
func (s streamState) end(epoch lifecycle.Micros) streamEnd {
	return streamEnd{Epoch: epoch, Seq: s.last.Seq, At: s.lastAt, Msgs: s.msgs, Seen: s.now}
}

// beginAfter begins another incarnation behind what the broker forgot. What it stored since is younger than all that was seen.
func (n *IncarnationResolver) beginAfter(ctx context.Context, name string, before streamEnd, s streamState) (err error) {
	next := Incarnation{Epoch: s.now, From: s.now, Created: s.created, Restored: s.last.Seq, Forgot: before.Seq}
	if s.lastAt > before.At {
		next.Epoch, next.From = before.At+1, before.At+1
		if next.Restored, err = n.restored(ctx, name, next.From); err != nil {
			return err
		}
	}
	return n.begin(ctx, name, next, s)
}

// beginWith begins another incarnation, which has the messages again that had left the one before.
func (n *IncarnationResolver) beginWith(ctx context.Context, name string, before streamEnd, s streamState) (err error) {
	next := Incarnation{Epoch: before.Seen + 1, From: before.Seen + 1, Created: s.created, Back: before.back(s)}
	if next.Restored, err = n.restored(ctx, name, next.From); err != nil {
		return err
	}
	return n.begin(ctx, name, next, s)
}

// begin stores another incarnation of a stream. Another replica may have done so already.
func (n *IncarnationResolver) begin(ctx context.Context, name string, next Incarnation, s streamState) error {
	stored, err := n.read(ctx, n.mark(name))
	if err != nil {
		return err
	}
	if len(stored) > len(n.known[name]) {
		n.known[name] = stored
		delete(n.ends, name)
		return nil
	}
	incarnations := append(stored, next)
	end := s.end(next.Epoch)
	end.told, end.toldAt = end.holding(), time.Now()
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
