//go:build linux

package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/live"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/restarts"
	"fleetglass/web"
)

var (
	scanRuler  = &Ruler{Floor: 2000, Goal: 1000, Lower: true} // Milliseconds of one pass over 50,000 leases.
	boardRuler = &Ruler{Floor: 200, Goal: 100, Lower: true}   // Milliseconds of the page while they are held.

	evaluateRuler = &Ruler{Floor: 500, Goal: 100, Lower: true} // Milliseconds of what looks at a pass, every second.
)

// measureInFlight asks what one pass over everything in flight costs, what the rules of alerts and the scan for restarts cost with it, and how long the board
// takes meanwhile.
func measureInFlight(b *bench) {
	for _, d := range []*database{newSQLite(b, b.TempDir()), newPostgres(b, b.shared.cluster())} {
		leases, consumers := 50_000, 1000
		if b.form.name == "smoke" {
			leases, consumers = 2000, 40
		}
		if err := manyHeld(b.Context(), d.store, leases, consumers); err != nil {
			b.Fatal(err)
		}
		end := profile(b, "inflight-"+d.name)
		for _, part := range passParts(b, d, leases) {
			b.add(Distribution("inflight/"+part.name+"/"+d.name, part.what, "ms", part.wall, 0.5, part.ruler))
			b.add(Distribution("inflight/"+part.name+"/"+d.name+" (cpu)", "the same, CPU time of this process", "ms", part.cpu, 0.5, nil))
		}
		b.add(Distribution("inflight/page/"+d.name, fmt.Sprintf("the in-flight board with %d leases, p95 of 24 in 6 s", leases), "ms", boardTimes(b, d.store), 0.95, boardRuler))
		end()
		d.close(b)
	}
}

// part is one part of the work on everything in flight, and how long it took each time, in milliseconds.
type part struct {
	name, what string
	ruler      *Ruler
	wall, cpu  []float64
}

// time does the part once.
func (p *part) time(b *bench, do func() error) {
	b.Helper()
	began, spent := time.Now(), spentCPU(b)
	if err := do(); err != nil {
		b.Fatal(err)
	}
	p.wall, p.cpu = append(p.wall, since(began)), append(p.cpu, (spentCPU(b)-spent)/1000)
}

// passParts does passes, each without anything cached, and what looks at the pass afterwards. The first time is not counted: it makes the board of alerts.
func passParts(b *bench, d *database, leases int) []part {
	out := []part{
		{name: "scan", what: fmt.Sprintf("one pass over %d messages in flight, median", leases), ruler: scanRuler},
		{name: "alerts", what: "the rules of alerts after a pass, median", ruler: evaluateRuler},
		{name: "restarts", what: fmt.Sprintf("the scan for restarts after a pass, %d messages followed, median", restarts.MaxVictims), ruler: evaluateRuler},
	}
	for i := range max(3, b.form.runs) + 1 {
		ask := askOf(b, d.store)
		scanner := followed(b, d.store.(restarts.Store), ask, i == 0)
		_ = ask.Close()
		ask = askOf(b, d.store)
		out[0].time(b, func() error {
			held, err := ask.InFlight(b.Context())
			if err == nil && (held.Held() != leases || held.Partial) {
				b.Fatalf("%d leases, partial %t", held.Held(), held.Partial)
			}
			return err
		})
		out[1].time(b, func() error { return evaluated(b, d.store.(alerts.BoardStore), ask) })
		out[2].time(b, func() error { return scanner.Turn(b.Context()) })
		_ = ask.Close()
		if i == 0 {
			for k := range out {
				out[k].wall, out[k].cpu = nil, nil
			}
		}
	}
	return out
}

func since(began time.Time) float64 { return float64(time.Since(began).Microseconds()) / 1000 }

// askOf answers questions about a store; nothing is cached yet.
func askOf(b *bench, store lifecycle.Store) *query.Service {
	b.Helper()
	ask, err := query.New(query.Config{Store: store, Entries: store.(dlqtriage.EntryStore).(query.EntryStore), AgentOf: fleet.AgentOfWorker})
	if err != nil {
		b.Fatal(err)
	}
	return ask
}

// evaluated is one look of the evaluator of alerts, which commits what follows.
func evaluated(b *bench, store alerts.BoardStore, ask *query.Service) error {
	b.Helper()
	moves, err := alerts.NewEvaluator(alerts.EvaluatorConfig{Store: store, Look: ask.Observed})
	if err != nil {
		b.Fatal(err)
	}
	return moves.Turn(b.Context())
}

// followed is what scans for restarts. At first everything that is in hand was in hand when Fleetglass went away. It looks at one pass again and again.
func followed(b *bench, store restarts.Store, ask *query.Service, first bool) *restarts.Scanner {
	b.Helper()
	look, err := ask.RestartLook(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	scanner, err := restarts.New(restarts.Config{Store: store, Leases: func(context.Context) (restarts.Look, error) { return look, nil }, Facts: ask.MessageFacts})
	if err != nil {
		b.Fatal(err)
	}
	if first {
		err = scanner.Begin(b.Context(), restarts.Return{ID: "fleetglass-bench", Cause: restarts.CauseFleetglass, To: lifecycle.MicrosOf(time.Now())})
	}
	if err != nil {
		b.Fatal(err)
	}
	return scanner
}

// boardTimes asks for the board four times a second, so that passes happen in between.
func boardTimes(b *bench, store lifecycle.Store) []float64 {
	ask := askOf(b, store)
	defer ask.Close() //nolint:errcheck // Nothing is written.
	pages, err := web.New(web.Config{Query: ask, Hub: live.NewHub(1)})
	if err != nil {
		b.Fatal(err)
	}
	engine := gin.New()
	pages.Register(routes.New(engine, routes.Config{Tokens: access.Unprotected()}))
	server := httptest.NewServer(engine)
	defer server.Close()
	requests := 24
	if b.form.name == "smoke" {
		requests = 4
	}
	var took []float64
	for i := range requests + 1 {
		began := time.Now()
		answer, err := http.Get(server.URL + "/in-flight") //nolint:noctx // The server is ours.
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			b.Fatalf("status %d", answer.StatusCode)
		}
		if i > 0 { // The first one after the start waits for the first pass.
			took = append(took, since(began))
		}
		<-time.After(250 * time.Millisecond)
	}
	return took
}

// manyHeld stores tasks that workers hold.
func manyHeld(ctx context.Context, store lifecycle.Appender, n, consumers int) error {
	const atOnce = 2000
	begin := lifecycle.MicrosOf(time.Now().Add(-time.Minute))
	stream := contract.StreamID(fleet.StreamTasks)
	for from := 0; from < n; from += atOnce {
		var batch lifecycle.Batch
		for i := from; i < min(from+atOnce, n); i++ {
			agent, at := fmt.Sprintf("agent-%d", i%consumers), begin.Add(time.Duration(i)*time.Microsecond)
			key, id := lifecycle.MessageKey{Stream: stream, Seq: uint64(i + 1)}, fmt.Sprint("held-", i)
			stored := lifecycle.Event{ID: lifecycle.NewEventID(id, "1"), Kind: lifecycle.Published, Provenance: lifecycle.Observed, At: at, TaskID: id, Message: key, Agent: agent}
			stored.Detail.MsgID, stored.Detail.Type, stored.Detail.Subject = id, "code_review", contract.TaskSubject(agent, "code_review")
			given := lifecycle.Event{
				ID: lifecycle.NewEventID(id, "2"), Kind: lifecycle.Delivered, Provenance: lifecycle.Broker, At: at + 1, Message: key, Agent: agent,
				Consumer: fleet.WorkerName(agent), Attempt: 1, ConsumerSeq: uint64(i/consumers + 1), Detail: lifecycle.Detail{Timing: lifecycle.Timing{Exact: true}},
			}
			batch.Events = append(batch.Events, stored, given)
		}
		if from == 0 {
			for i := range consumers {
				batch.Consumers = append(batch.Consumers, lifecycle.ConsumerState{
					Stream: stream, Name: fleet.WorkerName(fmt.Sprintf("agent-%d", i)), ObservedAt: begin, AckWait: time.Duration(i%50+1) * 10 * time.Second, MaxDeliver: 3, MaxAckPending: 50,
				})
			}
		}
		if _, err := store.Append(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}
