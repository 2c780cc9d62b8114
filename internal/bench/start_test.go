//go:build linux

package bench

import (
	"fmt"
	"path/filepath"
)

// measureStart times the program from the start of its process until /readyz says that every part can do its work.
func measureStart(b *bench) {
	h := b.storedHistory()
	var empty, full []float64
	for range b.form.starts {
		empty = append(empty, b.startOnce(filepath.Join(b.TempDir(), "data")))
		full = append(full, b.startOnce(h.dir))
	}
	b.add(
		Value("start/empty", "start to ready, broker embedded, no data", "ms", empty, &Ruler{Floor: 250, Goal: 60, Lower: true}),
		Ratio("start/stored", fmt.Sprintf("the same with %s events stored, against no data", figure(float64(h.events))), "ms", full, empty, nil).
			judgedByValue(&Ruler{Floor: 500, Goal: 100, Lower: true}),
	)
}

// startOnce is the milliseconds of one start. The first one on a data directory makes what is missing there.
func (b *bench) startOnce(data string) float64 {
	b.Helper()
	p := startProgram(b, data)
	took := p.ready(b)
	p.stop(b)
	return float64(took.Microseconds()) / 1000
}
