//go:build linux

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"
	"testing"

	"fleetglass/lifecycle"

	"github.com/nats-io/nats.go/jetstream"
)

// measureIngest holds the whole way of a line, from the capture stream through decoding, fold and a commit with fsync to its
// acknowledgement, against plain consuming of the same streams by the same client in the same run.
func measureIngest(b *bench) {
	shareMemory(b)
	r := b.recorded()
	srv, js := openBroker(b, r.dir)
	defer closeBroker(b, srv)
	pg := b.shared.cluster()
	var all, each, lite, post, plainCPU, liteCPU, postCPU, plainRoom, liteRoom, postRoom []float64
	consume(b, js, r, jetstream.AckAllPolicy) // Brings the streams' blocks into memory.
	for range b.form.runs {
		before := costSoFar(b)
		all = append(all, consumeQuietly(b, js, r, jetstream.AckAllPolicy))
		plain := costSoFar(b).since(before, passes*r.total)
		plainCPU, plainRoom = append(plainCPU, plain.cpu), append(plainRoom, plain.room)
		rate, cost := ingest(b, js, r, newSQLite(b, b.TempDir()))
		lite, liteCPU, liteRoom = append(lite, rate), append(liteCPU, cost.cpu), append(liteRoom, cost.room)
		each = append(each, consumeQuietly(b, js, r, jetstream.AckExplicitPolicy))
		rate, cost = ingest(b, js, r, newPostgres(b, pg))
		post, postCPU, postRoom = append(post, rate), append(postCPU, cost.cpu), append(postRoom, cost.room)
	}
	note := fmt.Sprintf("%d lines of %d tasks in %d streams; raw is %s lines/s acknowledging all, %s each", r.total, r.tasks, len(sources),
		figure(Median(all)), figure(Median(each)))
	b.add(
		Ratio("ingest/sqlite", "capture streams to commit with fsync to ack, against raw consume (ack all)", "lines/s", lite, all, &Ruler{Floor: 0.15, Goal: 0.28}).With(note),
		Ratio("ingest/postgres", "the same, fsync on", "lines/s", post, all, &Ruler{Floor: 0.13, Goal: 0.30}),
		Ratio("ingest/sqlite (ack each)", "the same, against raw consume that acknowledges each line", "lines/s", lite, each, nil),
		Ratio("ingest/postgres (ack each)", "the same", "lines/s", post, each, nil),
		Ratio("ingest/sqlite (cpu)", "CPU time of ingest, broker included, against that of raw consume; a busy machine changes it least", "µs/line", liteCPU, plainCPU, nil),
		Ratio("ingest/postgres (cpu)", "likewise, without that of the database", "µs/line", postCPU, plainCPU, nil),
		Ratio("ingest/sqlite (allocated)", "what the Go heap gave out, likewise; more of it on a busy machine", "B/line", liteRoom, plainRoom, nil),
		Ratio("ingest/postgres (allocated)", "likewise", "B/line", postRoom, plainRoom, nil),
	)
}

// recorded is the recording of this invocation.
func (b *bench) recorded() *recording {
	b.Helper()
	if b.shared.recorded == nil {
		b.shared.recorded = record(b, b.shared.dir(b, "recording"), b.form.tasks)
	}
	return b.shared.recorded
}

// passes is how often a run consumes everything plainly: once takes too short a time.
const passes = 3

func consumeQuietly(t testing.TB, js jetstream.JetStream, r *recording, policy jetstream.AckPolicy) float64 {
	t.Helper()
	runtime.GC()
	var rates []float64
	for range passes {
		rates = append(rates, consume(t, js, r, policy))
	}
	return Median(rates)
}

// cost is what work takes: CPU time in microseconds, and bytes that the Go heap gave out.
type cost struct{ cpu, room float64 }

// costSoFar is that of this process since it began.
func costSoFar(t testing.TB) cost {
	t.Helper()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return cost{cpu: spentCPU(t), room: float64(m.TotalAlloc)}
}

// since is what was added to an earlier cost, for each of n lines.
func (c cost) since(before cost, n int) cost {
	return cost{cpu: (c.cpu - before.cpu) / float64(n), room: (c.room - before.room) / float64(n)}
}

// spentCPU is the CPU time of this process so far, in microseconds.
func spentCPU(t testing.TB) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000
}

// ingest measures one run, in lines a second and what a line takes, and checks that the store then has every event, once.
func ingest(t testing.TB, js jetstream.JetStream, r *recording, db *database) (rate float64, each cost) {
	t.Helper()
	in := newIngester(t, js, db.store)
	runtime.GC()
	endProfile := profile(t, "ingest-"+db.name)
	before := costSoFar(t)
	rate = in.run(t, r)
	each = costSoFar(t).since(before, r.total)
	endProfile()
	checkIngested(t, in, r, db)
	db.close(t)
	return rate, each
}

func checkIngested(t testing.TB, in *ingester, r *recording, db *database) {
	t.Helper()
	s := in.stats()
	if s.Quarantined > 0 || s.Failures > 0 || int(s.New) != r.events {
		t.Fatalf("%s: %d events are new of %d lines, want %d; %d quarantined, %d commits failed", db.name, s.New, s.Lines, r.events, s.Quarantined, s.Failures)
	}
	counts, _, err := db.store.CountTasks(t.Context(), lifecycle.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if counts[lifecycle.StateCompleted] != int64(r.tasks) {
		t.Fatalf("%s: %d tasks are completed, want %d: %v", db.name, counts[lifecycle.StateCompleted], r.tasks, counts)
	}
	stored := 0
	for _, id := range db.tasks(t) {
		stored += db.lines(t, id)
	}
	if stored != r.events {
		t.Fatalf("%s: %d events are stored, want %d", db.name, stored, r.events)
	}
}

// profile writes a CPU and a heap profile where -profiles says; the later of several of one name stays.
func profile(t testing.TB, name string) (end func()) {
	t.Helper()
	if *flagProfiles == "" {
		return func() {}
	}
	create := func(kind string) *os.File {
		f, err := os.Create(filepath.Join(*flagProfiles, name+"."+kind+".pprof"))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	cpu := create("cpu")
	if err := pprof.StartCPUProfile(cpu); err != nil {
		t.Fatal(err)
	}
	return func() {
		pprof.StopCPUProfile()
		heap := create("heap")
		if err := pprof.Lookup("allocs").WriteTo(heap, 0); err != nil {
			t.Fatal(err)
		}
		if err := heap.Close(); err != nil {
			t.Fatal(err)
		}
		if err := cpu.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
