//go:build linux

package torture

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"fleetglass/internal/testkit"
)

// disk can be made full, and have room again.
type disk interface {
	fill(g *glass, spare int64) // Leaves about as many bytes free.
	free(g *glass)
}

// newDisk mounts a small file system at dir where that is allowed; else it limits how large Fleetglass may make a file.
func newDisk(r *run, dir string) disk {
	r.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m")
	if err == nil {
		r.t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		r.note("disk full by", "a small tmpfs")
		return &smallDisk{r: r, filler: filepath.Join(dir, "filler")}
	}
	r.t.Logf("ATTENTION: no tmpfs can be mounted here (%v): a full disk is only imitated, by a limit on the size of files", err)
	r.note("disk full by", "RLIMIT_FSIZE, because a tmpfs could not be mounted: %v", err)
	return fileLimit{r}
}

// smallDisk is a file system that a file of the harness fills.
type smallDisk struct {
	r      *run
	filler string
}

func (d *smallDisk) fill(_ *glass, spare int64) {
	d.r.t.Helper()
	f, err := os.OpenFile(d.filler, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		d.r.t.Fatal(err)
	}
	written, block := int64(0), make([]byte, 4096)
	for err == nil {
		var n int
		n, err = f.Write(block)
		written += int64(n)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.r.t.Fatalf("fill the disk: %v", err)
	}
	if err := errors.Join(f.Truncate(max(0, written-spare)), f.Close()); err != nil {
		d.r.t.Fatal(err)
	}
}

func (d *smallDisk) free(*glass) {
	if err := os.Remove(d.filler); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.r.t.Fatal(err)
	}
}

// fileLimit lets the writes of a process fail beyond a size of files.
type fileLimit struct{ r *run }

func (d fileLimit) fill(g *glass, spare int64) { d.set(g, uint64(spare)) }
func (d fileLimit) free(g *glass)              { d.set(g, math.MaxUint64) }

func (d fileLimit) set(g *glass, size uint64) {
	limit := syscall.Rlimit{Cur: size, Max: math.MaxUint64}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(g.cmd.Process.Pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 && !errors.Is(errno, syscall.ESRCH) {
		d.r.t.Fatalf("limit the size of files: %v", errno)
	}
}

// The disk of the store is full for a while, again and again, and Fleetglass is killed meanwhile: everything must be known in the end.
func TestNothingIsLostWhenTheDiskIsFull(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	b := startBroker(t, r.dir)
	data := filepath.Join(r.dir, "data")
	d := newDisk(r, data)
	g := newGlass(t, r.dir, "--nats-url", b.url(), "--data-dir", data)
	g.again()
	g.ready()
	fleet, path := r.startFleet(b.url(), form(100, 600), 12)
	r.diskFaults(d, g, form(4, 25), form(3*time.Second, 12*time.Second))
	r.settle(g, fleet, path, b.url(), sqliteIn(data))
}

// The disk of the embedded broker is full as well: it may lose lines, and refuses tasks for a while.
func TestNothingIsInventedWhenTheDiskOfTheBrokerIsFull(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	address := testkit.FreeAddress(t)
	data := filepath.Join(r.dir, "data")
	d := newDisk(r, data)
	g := newGlass(t, r.dir, "--nats-listen", address, "--data-dir", data)
	g.again()
	g.ready()
	fleet, path := r.startFleet("nats://"+address, form(60, 300), 12)
	r.diskFaults(d, g, form(2, 15), 3*time.Second)
	r.aftermath(g, fleet, path, "nats://"+address, sqliteIn(data))
}

func (r *run) diskFaults(d disk, g *glass, times int, longest time.Duration) {
	r.t.Helper()
	full, kills, gaveUp, restarts := spans{}, 0, 0, 0
	for range times {
		r.wait(time.Second)
		began := time.Now()
		d.fill(g, []int64{0, 4096, 32768, 131072}[r.rand.IntN(4)])
		r.wait(longest)
		if r.rand.IntN(2) == 0 {
			kills++
			g.kill()
			g.again() // On a full disk.
			r.wait(2 * time.Second)
		}
		d.free(g)
		full = append(full, time.Since(began))
		if g.ended() { // It may refuse to start on a full disk.
			gaveUp++
			g.again()
		}
		restarts += g.cured()
	}
	testkit.Eventually(r.t, patience, func() error { // It may learn of a write that failed only when the disk has room again.
		restarts += g.cured()
		var ready readiness
		return g.api().get(r.t.Context(), "/readyz", &ready)
	})
	r.note("restarted because it asked for it", "%d times", restarts)
	r.note("disk full", "%s", full)
	r.note("Fleetglass killed with SIGKILL while the disk was full", "%d times; it refused to start %d times", kills, gaveUp)
}

// cured starts Fleetglass again if it asks for that, as an operator would, and returns how often it did.
func (g *glass) cured() int {
	g.t.Helper()
	var r readiness
	err := g.api().get(g.t.Context(), "/readyz", &r)
	if err == nil || !strings.Contains(err.Error(), "start Fleetglass again") {
		return 0
	}
	g.stop(g.t)
	g.again()
	return 1
}
