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
	var all, each, lite, post, plainCPU, liteCPU []float64
	consume(b, js, r, jetstream.AckAllPolicy) // Brings the streams' blocks into memory.
	for range b.form.runs {
		before := spentCPU(b)
		all = append(all, consumeQuietly(b, js, r, jetstream.AckAllPolicy))
		plainCPU = append(plainCPU, (spentCPU(b)-before)/float64(passes*r.total))
		rate, cpu := ingest(b, js, r, newSQLite(b, b.TempDir()))
		lite, liteCPU = append(lite, rate), append(liteCPU, cpu)
		each = append(each, consumeQuietly(b, js, r, jetstream.AckExplicitPolicy))
		rate, _ = ingest(b, js, r, newPostgres(b, pg))
		post = append(post, rate)
	}
	note := fmt.Sprintf("%d lines of %d tasks in %d streams; raw is %s lines/s acknowledging all, %s each", r.total, r.tasks, len(sources),
		figure(Median(all)), figure(Median(each)))
	b.add(
		Ratio("ingest/sqlite", "capture streams to commit with fsync to ack, against raw consume (ack all)", "lines/s", lite, all, &Ruler{Floor: 0.15, Goal: 0.28}).With(note),
		Ratio("ingest/postgres", "the same, fsync on", "lines/s", post, all, &Ruler{Floor: 0.13, Goal: 0.30}),
		Ratio("ingest/sqlite (ack each)", "the same, against raw consume that acknowledges each line", "lines/s", lite, each, nil),
		Ratio("ingest/postgres (ack each)", "the same", "lines/s", post, each, nil),
		Ratio("ingest/sqlite (cpu)", "CPU time of ingest, broker included, against that of raw consume; a busy machine changes it least", "µs/line", liteCPU, plainCPU, nil),
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

// spentCPU is the CPU time of this process so far, in microseconds.
func spentCPU(t testing.TB) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000
}

// ingest measures one run, in lines a second and microseconds of CPU a line, and checks that the store then has every event, once.
func ingest(t testing.TB, js jetstream.JetStream, r *recording, db *database) (rate, cpu float64) {
	t.Helper()
	in := newIngester(t, js, db.store)
	runtime.GC()
	endProfile := profile(t, "ingest-"+db.name)
	before := spentCPU(t)
	rate = in.run(t, r)
	cpu = (spentCPU(t) - before) / float64(r.total)
	endProfile()
	checkIngested(t, in, r, db)
	if err := db.store.Close(); err != nil {
		t.Fatal(err)
	}
	return rate, cpu
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
