package rowcodec_test

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"
)

// The rows of one task as a fleet that reports leaves it: published, delivered, worked on with heartbeats, recorded and acknowledged.

var (
	benchKey = lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 104_217}
	benchAt  = lifecycle.MicrosOf(time.Date(2026, 3, 1, 12, 0, 0, 123_456_000, time.UTC))
)

func benchEvents() []lifecycle.Event {
	const id, hash = "blog-post-118-5e2f", "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
	about := lifecycle.Event{At: benchAt, TaskID: id, Message: benchKey, Agent: "marketing", Source: "OBS_PUB", SourceSeq: 310_442}
	stored := about
	stored.Kind, stored.Provenance = lifecycle.Published, lifecycle.Observed
	stored.Detail.Naming = lifecycle.Naming{MsgID: id, Subject: "genbrain.agents.marketing.tasks.content_creation", Type: "content_creation", IdempotencyKey: id + "-1", PayloadHash: hash}
	stored.Detail.Size, stored.Detail.Title, stored.Detail.CreatedAt = 412, "Draft the launch post", benchAt
	beat := about
	beat.Kind, beat.Provenance, beat.Consumer, beat.ConsumerSeq, beat.Attempt = lifecycle.Heartbeat, lifecycle.Observed, "marketing-task-worker", 220_101, 1
	beat.Raw = []byte("$JS.ACK.TASKS.marketing-task-worker.1.104217.220101.1795190401623456.4\n+WPI")
	ack := beat
	ack.Kind, ack.Raw = lifecycle.Acked, []byte("$JS.ACK.TASKS.marketing-task-worker.1.104217.220101.1795190401623456.4\n+ACK")
	report := about
	report.Kind, report.Provenance, report.Attempt, report.Source = lifecycle.ReportCompleted, lifecycle.Reported, 1, "OBS_LIFE"
	report.Detail.MsgID, report.Detail.LeaseOwner, report.Detail.LeaseVersion, report.Detail.Status = id, "mkt-7c9d-2", 311, "completed"
	report.Detail.RecordsWait = 2500 * time.Microsecond
	return []lifecycle.Event{stored, beat, ack, report}
}

// benchChanges are the rows of facts that those events leave.
func benchChanges() (lifecycle.MessageFacts, lifecycle.TaskRow) {
	events := benchEvents()
	for i := range events {
		events[i].ID = lifecycle.EventID(i + 1)
	}
	attempt, record := events[0], events[0]
	attempt.ID, attempt.Kind, attempt.Message = 7, lifecycle.PublishAttempted, lifecycle.MessageKey{}
	record.ID, record.Kind, record.Message, record.Provenance = 8, lifecycle.CompletionRecorded, lifecycle.MessageKey{}, lifecycle.Recorded
	events[3].Message = lifecycle.MessageKey{}
	events = append(events, attempt, record)
	f := lifecycle.NewFold()
	f.Keys(events)
	f.Assign(events)
	for _, e := range events {
		f.Add(e)
	}
	c := f.Changes()
	return *c.Messages[0].Facts, c.Tasks[0]
}

func BenchmarkFacts(b *testing.B) {
	message, task := benchChanges()
	var room []byte
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			room = rowcodec.AppendMessage(room[:0], &message)
			room = rowcodec.AppendTask(room, task.Facts)
			room = rowcodec.AppendSummary(room, &task.Summary)
		}
		b.ReportMetric(float64(len(room)), "B/task")
	})
	m, t, sum := rowcodec.AppendMessage(nil, &message), rowcodec.AppendTask(nil, task.Facts), rowcodec.AppendSummary(nil, &task.Summary)
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := rowcodec.Message(message.Key, m); err != nil {
				b.Fatal(err)
			}
			if _, err := rowcodec.Task(task.Facts.ID, t); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read summaries", func(b *testing.B) {
		b.ReportAllocs()
		shared := rowcodec.Texts{}
		for b.Loop() {
			var s lifecycle.TaskSummary
			if err := rowcodec.ReadSummary(&s, sum, shared); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	events := benchEvents()
	var room []byte
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			room = room[:0]
			for i := range events {
				room = rowcodec.AppendEvent(room, &events[i])
			}
		}
		b.ReportMetric(float64(len(room))/float64(len(events)), "B/row")
	})
	var rows [][]byte
	for i := range events {
		rows = append(rows, rowcodec.AppendEvent(nil, &events[i]))
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, row := range rows {
				var e lifecycle.Event
				if err := rowcodec.ReadEvent(&e, row); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
