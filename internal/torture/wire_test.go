//go:build linux

package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go/jetstream"
)

// wire is what the broker captured of one task, counted by kind of event and attempt. It is what Fleetglass was able to see: when a broker
// dies it may have captured less than the agents did.
type wire map[wireCount]int

type wireCount struct {
	Kind    lifecycle.Kind
	Attempt int
}

func (w wire) count(kind lifecycle.Kind) int {
	n := 0
	for c, times := range w {
		if c.Kind == kind {
			n += times
		}
	}
	return n
}

// last is the highest attempt of which there is a line. That the attempts are used up, of a message that was acknowledged all the same, counts for none:
// the broker counts a delivery that never reached the worker, because its pull had ended. Nor does its word of a nak: anybody may have sent that, and alone it
// proves no delivery.
func (w wire) last() int {
	n := 0
	for c := range w {
		if c.Kind != lifecycle.NakConfirmed && (c.Kind != lifecycle.ExhaustionSaid || w.count(lifecycle.Acked) == 0) {
			n = max(n, c.Attempt)
		}
	}
	return n
}

// wires reads every capture stream, independently of Fleetglass.
type wires struct {
	bySeq  map[uint64]wire // What names a message.
	byTask map[string]wire // What names a task.
	ids    map[uint64]string

	deleted map[uint64]bool // Messages of which the broker says that they were deleted unanswered.

	// refused are the advisories of a deletion that the broker contradicts, by their sequence: when it dies it forgets deliveries and deletions of which
	// it told before. Fleetglass keeps such a line in quarantine, since it cannot tell it from a forged one.
	refused map[string]bool
}

// readWires reads every capture stream whole. A node that has just taken over may not answer yet: then it is read from the beginning again.
func readWires(t *testing.T, js jetstream.JetStream, refused map[string]bool) *wires {
	t.Helper()
	var w *wires
	testkit.Eventually(t, patience, func() error {
		w = &wires{bySeq: map[uint64]wire{}, byTask: map[string]wire{}, ids: map[uint64]string{}, deleted: map[uint64]bool{}, refused: refused}
		return w.readAll(t.Context(), js)
	})
	return w
}

func (w *wires) readAll(ctx context.Context, js jetstream.JetStream) error {
	for name, read := range map[string]func(jetstream.Msg) error{
		fleet.CapturePub: w.publish, fleet.CaptureRaw: w.attempt, fleet.CaptureAck: w.answer, fleet.CaptureEvt: w.advisory,
		fleet.CaptureReport: w.report, "KV_" + fleet.BucketIdempotency: w.record,
	} {
		if err := eachLine(ctx, js, name, read); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	return nil
}

// of is everything that was captured of a task. It may have several messages: a broker that was killed has forgotten the ids of those that were taken, and stores one
// that is published again.
func (w *wires) of(t *told) wire {
	out, parts := wire{}, []wire{w.byTask[t.ID], w.bySeq[t.Seq]}
	for seq, id := range w.ids {
		if id == t.ID && seq != t.Seq {
			parts = append(parts, w.bySeq[seq])
		}
	}
	for _, part := range parts {
		for c, n := range part {
			out[c] += n
		}
	}
	return out
}

func eachLine(ctx context.Context, js jetstream.JetStream, stream string, read func(jetstream.Msg) error) error {
	c, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	for {
		batch, err := c.FetchNoWait(1000)
		if err != nil {
			return err
		}
		n := 0
		for msg := range batch.Messages() {
			n++
			if err := read(msg); err != nil {
				return fmt.Errorf("%s: %w", msg.Subject(), err)
			}
		}
		if err := batch.Error(); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

func add[K comparable](all map[K]wire, key K, kind lifecycle.Kind, attempt int) {
	if all[key] == nil {
		all[key] = wire{}
	}
	all[key][wireCount{kind, attempt}]++
}

func (w *wires) publish(msg jetstream.Msg) error {
	seq, err := strconv.ParseUint(msg.Headers().Get(fleet.HeaderNatsSequence), 10, 64)
	add(w.bySeq, seq, lifecycle.Published, 0)
	w.ids[seq] = msg.Headers().Get(fleet.HeaderTaskID)
	return err
}

func (w *wires) attempt(msg jetstream.Msg) error {
	add(w.byTask, msg.Headers().Get(fleet.HeaderTaskID), lifecycle.PublishAttempted, 0)
	return nil
}

func (w *wires) answer(msg jetstream.Msg) error {
	tokens := strings.Split(fleet.OriginalSubject(msg.Subject()), ".") // $JS.ACK.<stream>.<consumer>.<deliveries>.<seq>.<consumer seq>.<time>.<pending>
	attempt, errAttempt := strconv.Atoi(tokens[4])
	seq, errSeq := strconv.ParseUint(tokens[5], 10, 64)
	if errAttempt != nil || errSeq != nil {
		return fmt.Errorf("not an acknowledgement: %w, %w", errAttempt, errSeq)
	}
	word, _, _ := strings.Cut(string(msg.Data()), " ")
	kinds := map[string]lifecycle.Kind{
		"+ACK": lifecycle.Acked, "": lifecycle.Acked, "-NAK": lifecycle.Nacked, "+TERM": lifecycle.Terminated, "+WPI": lifecycle.Heartbeat,
	}
	if kinds[word] == "" {
		return fmt.Errorf("unknown answer %q", word)
	}
	add(w.bySeq, seq, kinds[word], attempt)
	return nil
}

func (w *wires) advisory(msg jetstream.Msg) error {
	var a struct {
		Type       string
		StreamSeq  uint64 `json:"stream_seq"`
		Deliveries int
		Reason     string
	}
	if err := json.Unmarshal(msg.Data(), &a); err != nil {
		return err
	}
	kinds := map[string]lifecycle.Kind{
		"io.nats.jetstream.metric.v1.consumer_ack": lifecycle.AckConfirmed, "io.nats.jetstream.advisory.v1.nak": lifecycle.NakConfirmed,
		"io.nats.jetstream.advisory.v1.terminated": lifecycle.TermConfirmed, "io.nats.jetstream.advisory.v1.max_deliver": lifecycle.ExhaustionSaid,
	}
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	if kind := kinds[a.Type]; kind != "" && !w.refused[strconv.FormatUint(meta.Sequence.Stream, 10)] {
		add(w.bySeq, a.StreamSeq, kind, a.Deliveries)
		if kind == lifecycle.TermConfirmed && (a.Reason == lifecycle.BrokerDeleted || a.Reason == lifecycle.BrokerMissed) {
			w.deleted[a.StreamSeq] = true
		}
	}
	return nil
}

func (w *wires) record(msg jetstream.Msg) error {
	r, err := fleet.ReadRecord(msg.Data())
	add(w.byTask, r.TaskID, lifecycle.CompletionRecorded, 0)
	return err
}

func (w *wires) report(msg jetstream.Msg) error {
	_, kind, _ := fleet.NewContract("").ParseReportSubject(fleet.OriginalSubject(msg.Subject()))
	var event struct{ Subject string }
	err := json.Unmarshal(msg.Data(), &event)
	add(w.byTask, event.Subject, lifecycle.Kind(kind), 0)
	return err
}

// refusedAdvisories are the lines in quarantine that speak of a deletion which the broker's state contradicts.
func refusedAdvisories(t *testing.T, c client) map[string]bool {
	t.Helper()
	var quarantine page[struct {
		Source    string `json:"source"`
		SourceSeq string `json:"source_seq"`
		Body      string `json:"body"`
		Reason    string `json:"reason"`
	}]
	if err := c.get(t.Context(), "/api/v1/quarantine", &quarantine); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, line := range quarantine.Data {
		if line.Source == fleet.CaptureEvt && strings.HasPrefix(line.Reason, "forged:") && strings.Contains(line.Body, "advisory.v1.terminated") {
			out[line.SourceSeq] = true
		}
	}
	return out
}

// left is what is still in the task stream.
func left(t *testing.T, js jetstream.JetStream) map[uint64]bool {
	t.Helper()
	s, err := js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context(), jetstream.WithDeletedDetails(true))
	if err != nil {
		t.Fatal(err)
	}
	out := map[uint64]bool{}
	if info.State.Msgs == 0 {
		return out
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		out[seq] = true
	}
	for _, gone := range info.State.Deleted {
		delete(out, gone)
	}
	return out
}
