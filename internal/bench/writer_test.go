//go:build linux

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"fleetglass/fleet/demo"
	"fleetglass/lifecycle"

	"golang.org/x/sync/errgroup"
)

// writer makes up the events.
type writer struct {
	h      *history
	random *rand.Rand
	stream lifecycle.StreamID
	seq    uint64
	lines  map[string]uint64
	kinds  []demo.Story // What tasks are about, in turn.
}

// tell appends the whole life of some tasks.
func (w *writer) tell(t testing.TB, tasks int, at lifecycle.Micros) error {
	t.Helper()
	var published, answered [3]lifecycle.Batch
	n := 0
	for i := range tasks {
		w.task(at.Add(time.Duration(i)*pace), &published, &answered)
	}
	for _, b := range append(published[:], answered[:]...) {
		n += len(b.Events)
	}
	began, before := time.Now(), spentCPU(t)
	for _, phase := range [][3]lifecycle.Batch{published, answered} {
		if err := w.append(t.Context(), phase); err != nil {
			return err
		}
	}
	w.h.groups = append(w.h.groups, groupCost{n, time.Since(began), spentCPU(t) - before})
	return nil
}

func (w *writer) append(ctx context.Context, batches [3]lifecycle.Batch) error {
	appending, ctx := errgroup.WithContext(ctx)
	for _, b := range batches {
		if b.Empty() {
			continue
		}
		appending.Go(func() error {
			done, err := w.h.db.store.Append(ctx, b)
			if err == nil && done.New != len(b.Events) {
				return fmt.Errorf("%d events of %d are new", done.New, len(b.Events))
			}
			return err
		})
	}
	return appending.Wait()
}

// task tells of one task: published once, rarely twice, done in half a second to eight, rarely refused.
func (w *writer) task(at lifecycle.Micros, published, answered *[3]lifecycle.Batch) {
	w.seq++
	story := w.kinds[w.seq%templates]
	id := fmt.Sprintf("%016x-%s", w.random.Uint64(), strings.ReplaceAll(story.Type, "_", "-"))
	if w.seq%97 == 1 {
		w.h.ids = append(w.h.ids, id)
		w.h.has[id] = eventsOf(w.seq)
	}
	key := lifecycle.MessageKey{Stream: w.stream, Seq: w.seq}
	subject := contract.TaskSubject(story.Agent, story.Type)
	hash := fmt.Sprintf("%016x", w.random.Uint64())
	attempt := lifecycle.Event{Kind: lifecycle.PublishAttempted, Provenance: lifecycle.Observed, At: at, TaskID: id, Agent: story.Agent,
		Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: id, Subject: subject, Type: story.Type, PayloadHash: hash}}}
	w.add(&published[0], "OBS_RAW", attempt)
	if w.seq%50 == 0 { // Published twice.
		attempt.At = at.Add(time.Second)
		w.add(&published[0], "OBS_RAW", attempt)
	}
	stored := attempt
	stored.Kind, stored.At, stored.Message = lifecycle.Published, at, key
	stored.Detail.IdempotencyKey, stored.Detail.Title, stored.Detail.CreatedAt, stored.Detail.Size = id+"-1", story.Title, at, 412
	w.add(&published[1], "OBS_PUB", stored)
	published[1].Payloads = append(published[1].Payloads, lifecycle.Payload{
		Message: key, Headers: map[string][]string{"Nats-Msg-Id": {id}, "X-Task-ID": {id}, "X-Task-Type": {story.Type}}, Body: body(id, story), Size: 412, At: at,
	})
	w.answers(stored, at, answered)
}

// eventsOf is how many events task number seq has.
func eventsOf(seq uint64) int {
	n := perTask
	if seq%50 == 0 {
		n++ // Another attempt to publish.
	}
	if seq%40 == 0 {
		n -= 2 // No completion is reported and none recorded.
	}
	return n
}

func (w *writer) answers(stored lifecycle.Event, at lifecycle.Micros, answered *[3]lifecycle.Batch) {
	end := at.Add(500*time.Millisecond + time.Duration(w.random.IntN(7500))*time.Millisecond)
	consumer := stored.Agent + "-task-worker"
	e := lifecycle.Event{Message: stored.Message, Agent: stored.Agent, Consumer: consumer, Attempt: 1, ConsumerSeq: stored.Message.Seq, At: end}
	said, confirmed, word := lifecycle.Acked, lifecycle.AckConfirmed, "+ACK"
	if w.seq%40 == 0 {
		said, confirmed, word = lifecycle.Terminated, lifecycle.TermConfirmed, "+TERM cannot be done"
	}
	ack, metric := e, e
	ack.Kind, ack.Provenance = said, lifecycle.Observed
	ack.Raw = []byte("$JS.ACK.TASKS." + consumer + ".1." + strconv.FormatUint(w.seq, 10) + "." + strconv.FormatUint(w.seq, 10) + "." + strconv.FormatInt(int64(at), 10) + "000.0\n" + word)
	metric.Kind, metric.Provenance, metric.Detail.AckTime = confirmed, lifecycle.Broker, end.Sub(at)
	w.add(&answered[0], "OBS_ACK", ack)
	w.add(&answered[0], "OBS_EVT", metric)
	report := lifecycle.Event{Kind: lifecycle.ReportClaimed, Provenance: lifecycle.Reported, At: at.Add(time.Millisecond), TaskID: stored.TaskID, Agent: stored.Agent,
		Attempt: 1, Detail: lifecycle.Detail{
			Naming:        lifecycle.Naming{MsgID: stored.TaskID},
			LeaseReport:   lifecycle.LeaseReport{LeaseOwner: stored.Agent + "/1", LeaseVersion: 1},
			OutcomeReport: lifecycle.OutcomeReport{Status: "in_flight"},
		}}
	w.add(&answered[1], "OBS_REPORT", report)
	if said == lifecycle.Terminated {
		return
	}
	w.h.completed++
	report.Kind, report.At, report.Detail.Status = lifecycle.ReportCompleted, end, "completed"
	w.add(&answered[1], "OBS_REPORT", report)
	record := lifecycle.Event{Kind: lifecycle.CompletionRecorded, Provenance: lifecycle.Recorded, At: end, TaskID: stored.TaskID, Agent: stored.Agent,
		Detail: lifecycle.Detail{
			Naming:        lifecycle.Naming{IdempotencyKey: stored.TaskID + "-1", PayloadHash: stored.Detail.PayloadHash},
			Timing:        lifecycle.Timing{CreatedAt: end},
			OutcomeReport: lifecycle.OutcomeReport{Status: "completed"},
		}}
	w.add(&answered[2], "KV_task-idempotency", record)
}

func (w *writer) add(b *lifecycle.Batch, source string, e lifecycle.Event) {
	w.lines[source]++
	e.Source, e.SourceSeq = source, w.lines[source]
	e.ID = lifecycle.NewEventID(source, strconv.FormatUint(e.SourceSeq, 10))
	b.Events = append(b.Events, e)
}

func body(id string, s demo.Story) []byte {
	text := fmt.Appendf(nil, `{"taskId":%q,"assignee":%q,"type":%q,"payload":{"title":%q,"brief":"`, id, s.Agent, s.Type, s.Title)
	const filler = "Two pages at most: options, cost, risk, and one recommendation. Quote numbers from last week. "
	for len(text) < 400 {
		text = append(text, filler...)
	}
	return append(text[:400], `"},"version":1}`...)
}
