//go:build linux

package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// measureMemory looks at the resident memory of the program as the system counts it, mapped files included.
func measureMemory(b *bench) {
	demo := startProgram(b, filepath.Join(b.TempDir(), "data"), "--demo")
	demo.ready(b)
	time.Sleep(b.form.idle)
	b.add(Value("memory/demo", fmt.Sprintf("resident memory with the demonstration after %s, broker included", b.form.idle), "MB",
		[]float64{demo.megabytes(b, "VmRSS")}, &Ruler{Floor: 150, Goal: 60, Lower: true}))
	demo.kill()
	b.add(b.ingestMemory())
}

// ingestMemory starts the program on a year of history and a broker full of lines that nobody has read yet.
func (b *bench) ingestMemory() Result {
	b.Helper()
	h, r := b.storedHistory(), b.recorded()
	copyBroker(b, r.dir, h.dir)
	glass := startProgram(b, h.dir)
	defer glass.kill()
	glass.ready(b)
	glass.catchUp(b, h.completed+r.tasks)
	took := time.Since(glass.began)
	peak, after := glass.megabytes(b, "VmHWM"), glass.megabytes(b, "VmRSS")
	glass.stop(b)
	h.completed += r.tasks
	return Value("memory/ingest", fmt.Sprintf("highest resident memory while ingesting with %s events stored, broker included", figure(float64(h.events))), "MB",
		[]float64{peak}, &Ruler{Floor: 300, Goal: 150, Lower: true}).
		With(fmt.Sprintf("%d lines in %.1f s from the start of the process; %.0f MB afterwards", r.total, took.Seconds(), after))
}

// copyBroker puts a recorded broker under a data directory that has none yet.
func copyBroker(t testing.TB, from, to string) {
	t.Helper()
	target := filepath.Join(to, "nats")
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s has a broker already: memory is measured before pages and start", to)
	}
	if err := os.CopyFS(target, os.DirFS(filepath.Join(from, "nats"))); err != nil {
		t.Fatal(err)
	}
}
