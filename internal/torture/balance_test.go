//go:build linux

package torture

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// seenBalance is a reconciliation as the API gives it.
type seenBalance struct {
	ID      string           `json:"id"`
	Status  string           `json:"status"`
	Failure *string          `json:"failure"`
	Balance map[string]any   `json:"balance"`
	Counts  map[string]int64 `json:"counts"`
	Notes   []string         `json:"notes"`
	Lists   []struct {
		Kind string `json:"kind"`
		Rows []struct {
			Seq    *string `json:"seq"`
			ToSeq  *string `json:"to_seq"`
			TaskID *string `json:"task_id"`
			Why    string  `json:"why"`
		} `json:"rows"`
	} `json:"lists"`
}

// term is a number of the balance.
func (b *seenBalance) term(name string) int64 {
	n, _ := b.Balance[name].(float64)
	return int64(n)
}

// sequences are the messages of a list.
func (b *seenBalance) sequences(t *testing.T, kind reconcile.DiscrepancyKind) map[uint64]string {
	t.Helper()
	out := map[uint64]string{}
	for _, l := range b.Lists {
		if l.Kind != string(kind) {
			continue
		}
		for _, row := range l.Rows {
			if row.Seq == nil {
				t.Fatalf("a row of %s names no message: %+v", kind, row)
			}
			from, err := strconv.ParseUint(*row.Seq, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			to := from
			if row.ToSeq != nil {
				to, _ = strconv.ParseUint(*row.ToSeq, 10, 64)
			}
			for seq := from; seq <= to; seq++ {
				out[seq] = row.Why
			}
		}
	}
	return out
}

// reconcile asks for a report over everything, and waits for it.
func (c client) reconcile(t *testing.T) *seenBalance {
	t.Helper()
	var b seenBalance
	if err := c.post(t.Context(), "/api/v1/reconciliations", &b); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		if err := c.get(t.Context(), "/api/v1/reconciliations/"+b.ID, &b); err != nil {
			return err
		}
		switch b.Status {
		case "done":
			return nil
		case "failed":
			t.Fatalf("the reconciliation failed: %v", *b.Failure)
		}
		return fmt.Errorf("the reconciliation is %s", b.Status)
	})
	return &b
}

func (c client) post(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(nil))
	if err != nil {
		return err
	}
	request.Header.Set("Idempotency-Key", rand.Text())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // Read whole.
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("POST %s: %s: %.3000s", path, response.Status, text)
	}
	return json.Unmarshal(text, into)
}

// balances checks that a reconciliation accounts for every message as the fleet's journal does: nothing is unexplained, and the only thing
// wrong is that nobody moves the dead to a dead-letter queue.
func (r *run) balances(c client, truth map[string]*told) {
	r.t.Helper()
	got := c.reconcile(r.t)
	want := map[string]int64{"published": int64(len(truth))}
	for _, t := range truth {
		switch {
		case t.acks() > 0:
			want["completed"]++
		case t.terms() > 0:
			want["terminated"]++
		case t.Attempts[maxDeliver] != nil:
			want["exhausted"]++
		default: // demo.FateOrphan: nobody takes it.
			want["in_flight"]++
		}
	}
	terms := map[string]int64{}
	for name := range got.Balance {
		if n := got.term(name); n != 0 {
			terms[name] = n
		}
	}
	r.note("reconciled", "%v", terms)
	if diff := cmp.Diff(want, terms); diff != "" {
		r.t.Errorf("balance (-the fleet +Fleetglass):\n%s", diff)
	}
	wrong := maps.Clone(got.Counts)
	delete(wrong, string(reconcile.ExhaustedOutsideDLQ))
	maps.DeleteFunc(wrong, func(_ string, n int64) bool { return n == 0 })
	if got.Balance["balanced"] != true || len(wrong) > 0 || got.Counts[string(reconcile.ExhaustedOutsideDLQ)] != want["exhausted"] {
		r.t.Errorf("balanced %v, discrepancies %v beside %d exhausted ones; want a balance, none, and %d: %+v", got.Balance["balanced"], wrong,
			got.Counts[string(reconcile.ExhaustedOutsideDLQ)], want["exhausted"], got.Lists)
	}
}

// balancesHonestly checks a reconciliation after lines were lost: it accounts for every sequence that the stream gave out, and what it cannot
// explain are exactly the messages that left the stream while their last line was lost.
func (r *run) balancesHonestly(c client, js jetstream.JetStream, truth map[string]*told, a *aftermath) {
	r.t.Helper()
	got := c.reconcile(r.t)
	stream, err := js.Stream(r.t.Context(), fleet.StreamTasks)
	if err != nil {
		r.t.Fatal(err)
	}
	last := int64(stream.CachedInfo().State.LastSeq)
	before := a.lostFirst(last)
	if n := got.term("published"); n > last || n < last-before || got.Balance["balanced"] != true {
		r.t.Errorf("balance %v, want a balance of the %d messages that the stream stored", got.Balance, last)
	}
	unexplained := got.sequences(r.t, reconcile.OutcomeUnexplained)
	maps.Copy(unexplained, got.sequences(r.t, reconcile.NeverSeen))
	lost := a.lost(truth, func(id string) bool {
		s, err := c.task(r.t.Context(), id)
		return err == nil && s.count(string(lifecycle.Repaired)) > 0
	})
	r.note("reconciled", "%d published, %d unexplained, of them %d never seen; the fleet's journal and the wire: %d lost", got.term("published"),
		got.term("unexplained"), got.term("never_seen"), len(lost))
	excuse := func(seq uint64, w wire) { // What nothing proves to have been stored or delivered, or to have ended in one way, may be explained by what was seen of it meanwhile, or not.
		if (!w.proved() || w.contested() || a.handed.forgot(seq)) && lost[seq] == "" {
			delete(unexplained, seq)
		}
	}
	for seq := range uint64(before) { // It may count them or not.
		delete(lost, seq+1)
		delete(unexplained, seq+1)
	}
	for _, t := range truth {
		excuse(t.Seq, a.wires.of(t))
	}
	for seq, w := range a.wires.bySeq { // Also of which the fleet does not know that it was stored.
		excuse(seq, w)
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(lost)), slices.Sorted(maps.Keys(unexplained))); d != "" {
		r.t.Errorf("unexplained messages (-the fleet and the wire +Fleetglass):\n%s\nthe fleet: %v\nFleetglass: %v", d, lost, unexplained)
		for _, t := range truth { // Of what only Fleetglass does not explain the lines tell what it could have known.
			if _, only := unexplained[t.Seq]; only && lost[t.Seq] == "" {
				r.t.Logf("%d, %s: %s; lines by task %v, by message %v", t.Seq, t.ID, t.Fate, a.wires.byTask[t.ID], a.wires.bySeq[t.Seq])
			}
		}
	}
}

// lostFirst is how many of the first messages have no publish line: a balance begins with the first message of which it is known when it was stored, for
// what was before it may be older than the observation.
func (a *aftermath) lostFirst(last int64) (n int64) {
	for n < last && a.wires.bySeq[uint64(n)+1].count(lifecycle.Published) == 0 {
		n++
	}
	return n
}

// lost are the messages that have left the stream, and of which no captured line says how: no answer that ends a message, no
// end of its attempts, no completion. A completion counts only where it is known whose message it was: by the publish line, or because the message was
// read from the stream in time (repaired).
func (a *aftermath) lost(truth map[string]*told, repaired func(id string) bool) map[uint64]string {
	out := map[uint64]string{}
	for _, t := range truth {
		w := a.wires.of(t)
		ended := w.count(lifecycle.Acked) + w.count(lifecycle.AckConfirmed) + w.count(lifecycle.Terminated) + w.count(lifecycle.TermConfirmed) +
			w.count(lifecycle.ExhaustionSaid)
		if t.Seq == 0 || a.left[t.Seq] || ended > 0 {
			continue
		}
		completed := w.count(lifecycle.CompletionRecorded)+w.count(lifecycle.ReportCompleted) > 0
		if completed && (w.count(lifecycle.Published) > 0 || repaired(t.ID)) {
			continue
		}
		out[t.Seq] = fmt.Sprintf("%s: %s, lost %v", t.ID, t.Fate, losses(t, w))
	}
	return out
}
