//go:build linux

package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"time"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/fleet"
	"fleetglass/internal/live"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/store/sqlite"
	"fleetglass/web"
)

var (
	scanRuler  = &Ruler{Floor: 2000, Goal: 1000, Lower: true} // Milliseconds of one pass over 50,000 leases.
	boardRuler = &Ruler{Floor: 200, Goal: 100, Lower: true}   // Milliseconds of the page while they are held.
)

// measureInFlight asks what one pass over everything in flight costs, and how long the board takes meanwhile, in SQLite.
func measureInFlight(b *bench) {
	leases, consumers := 50_000, 1000
	if b.form.name == "smoke" {
		leases, consumers = 2000, 40
	}
	store, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "store.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // It is thrown away.
	if err := manyHeld(b.Context(), store, leases, consumers); err != nil {
		b.Fatal(err)
	}
	var took []float64
	for range max(3, b.form.runs) {
		ask, err := query.New(query.Config{Store: store, Entries: store, AgentOf: fleet.AgentOfWorker}) // Nothing is cached.
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		held, err := ask.InFlight(b.Context())
		if err != nil || held.Held() != leases || held.Partial {
			b.Fatalf("%d leases, partial %t, %v", held.Held(), held.Partial, err)
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
		_ = ask.Close()
	}
	b.add(Distribution("inflight/scan", fmt.Sprintf("one pass over %d messages in flight of %d consumers, median", leases, consumers), "ms", took, 0.5, scanRuler))
	b.add(Distribution("inflight/page", fmt.Sprintf("the in-flight board with %d leases, p95 of 24 in 6 s", leases), "ms", boardTimes(b, store), 0.95, boardRuler))
}

// boardTimes asks for the board four times a second, so that passes happen in between.
func boardTimes(b *bench, store *sqlite.Store) []float64 {
	ask, err := query.New(query.Config{Store: store, Entries: store, AgentOf: fleet.AgentOfWorker})
	if err != nil {
		b.Fatal(err)
	}
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
			took = append(took, float64(time.Since(began).Microseconds())/1000)
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
