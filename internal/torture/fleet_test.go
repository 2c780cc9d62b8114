//go:build linux

package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/fleet/demo"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// fleetOrder is what the fleet is to do.
type fleetOrder struct {
	URL     string
	Journal string
	Seed    uint64
	Tasks   int
	Rate    float64 // Tasks a second.
	Scale   float64 // Of every wait and every piece of work.
}

// stuckAfter is how long a fleet waits for tasks that nothing happens to: longer than the longest wait of any worker.
const stuckAfter = 12 * time.Second

// beTheFleet works as agents that know nothing of Fleetglass, until killed. Everything that happens to a task is in the journal.
func beTheFleet(text []byte) error {
	var o fleetOrder
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	j, err := createJournal(o.Journal)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(o.URL, nats.Name("fleet"), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		return err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	d, err := demo.New(demo.Config{
		JetStream: &witness{JetStream: js, journal: j}, Seed: o.Seed, Rate: o.Rate, Backlog: -1, Tasks: o.Tasks, Scale: o.Scale, Noted: j.note,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	ctx := context.Background()
	go func() {
		for {
			err := d.Run(ctx) // Returns at once while the streams are missing.
			fmt.Fprintln(os.Stderr, "run:", err)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	for !finished(d, j, o.Tasks) {
		time.Sleep(20 * time.Millisecond)
	}
	if err := j.sync(); err != nil {
		return err
	}
	select {} // The workers go on: what was handed out twice still has to be answered.
}

// finished ends the journal when nothing more is going to happen.
func finished(d *demo.Demo, j *journal, tasks int) bool {
	entries := d.Ledger()
	open := tasks - len(entries)
	for _, e := range entries {
		if e.End == demo.EndOpen || e.Publishes < e.Story.Publishes {
			open++
		}
	}
	switch {
	case open == 0 && j.quiet() > time.Second:
		j.write(line{What: whatDone})
	case len(entries) == tasks && j.quiet() > stuckAfter:
		j.write(line{What: whatStuck})
	default:
		return false
	}
	return true
}

func (j *journal) note(n demo.Note) {
	j.write(line{Task: n.Story.ID, Agent: n.Story.Agent, Fate: string(n.Story.Fate), What: string(n.What), Attempt: n.Attempt, Number: n.Number, Seq: n.Seq})
}

// witness notes what the demonstration's ledger does not: reports, and publishes of which nobody knows what became.
type witness struct {
	jetstream.JetStream
	journal *journal
}

// PublishMsg implements [jetstream.JetStream].
func (w *witness) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := w.JetStream.PublishMsg(ctx, msg, opts...)
	contract := fleet.NewContract("")
	if agent, kind, ok := contract.ParseReportSubject(msg.Subject); ok {
		var event struct {
			Subject string
			Data    fleet.ReportData
		}
		err := errors.Join(err, json.Unmarshal(msg.Data, &event))
		w.tell(line{Task: event.Subject, Agent: agent, What: whatReported, Kind: kind, Attempt: event.Data.Attempt, Cost: int64(math.Round(event.Data.CostUSD * 1e6))}, err)
	} else if agent, _, ok := contract.ParseTaskSubject(msg.Subject); ok && err != nil {
		w.tell(line{Task: msg.Header.Get(fleet.HeaderTaskID), Agent: agent}, err)
	}
	return ack, err
}

func (w *witness) tell(l line, err error) {
	if err != nil {
		l.What, l.Error = whatFailed, err.Error()
	}
	w.journal.write(l)
}

// awaitFleet waits until the fleet has nothing more to do.
func awaitFleet(t *testing.T, p *process, path string, timeout time.Duration) []line {
	t.Helper()
	var lines []line
	testkit.Eventually(t, timeout, func() error {
		if p.ended() {
			t.Fatalf("the fleet ended: %v\n%s", p.err, p.tail())
		}
		var err error
		if lines, err = readJournal(path); err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return err
			}
			t.Fatal(err)
		}
		if !slices.ContainsFunc(lines, func(l line) bool { return l.What == whatDone || l.What == whatStuck }) {
			return fmt.Errorf("the fleet is at work: %d lines; its log ends with %s", len(lines), p.tail())
		}
		return nil
	})
	return lines
}
