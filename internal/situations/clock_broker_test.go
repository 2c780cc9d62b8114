//go:build linux

package situations

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// clockedBroker builds the broker of testdata/broker, once for all tests, with a package time whose Now can be set ahead of the host's clock or back. A
// process cannot set the clock of its host for itself alone, and a Go program asks no library for the time.
var clockedBroker = sync.OnceValues(func() (string, error) {
	dir := clockedDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	overlay, err := settableTime(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "broker")
	out, err := exec.Command("go", "build", "-overlay", overlay, "-o", path, "./testdata/broker").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// clockedDir is where that broker is built.
func clockedDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("fleetglass-situations-clock-%d", os.Getpid()))
}

// settableTime writes what the build replaces, and returns the file that lists it.
func settableTime(dir string) (overlay string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	broker, err := filepath.Abs(filepath.Join("testdata", "broker"))
	if err != nil {
		return "", err
	}
	standard := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	now, err := os.ReadFile(filepath.Join(standard, "time.go"))
	if err != nil {
		return "", err
	}
	const reads = "\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(now), reads) != 1 {
		return "", errors.New("time.Now of this Go does not read the clock as it used to")
	}
	replace := map[string]string{}
	for path, text := range map[string]string{
		filepath.Join(standard, "time.go"):  strings.Replace(string(now), reads, reads+"\tsec += ahead.Load()\n", 1),
		filepath.Join(standard, "ahead.go"): "package time\n\nimport \"sync/atomic\"\n\nvar ahead atomic.Int64\n\nfunc SetAhead(seconds int64) { ahead.Store(seconds) }\n",
		filepath.Join(broker, "set.go"):     "package main\n\nimport \"time\"\n\nfunc init() { setAhead = time.SetAhead }\n",
	} {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// clock is the clock of a broker that has a process of its own.
type clock struct {
	set   io.Writer
	heard *bufio.Scanner
	ahead time.Duration // Of this host's.
}

// now is what the broker's clock reads.
func (c *clock) now() time.Time {
	if c == nil {
		return time.Now()
	}
	return time.Now().Add(c.ahead)
}

// moment is a time by both clocks.
type moment struct{ broker, host time.Time }

func (c *clock) moment() moment { return moment{c.now(), time.Now()} }

// earlier is the time by the clock that is behind: of the collectors some go by the one, some by the other.
func (m moment) earlier() time.Time {
	if m.broker.Before(m.host) {
		return m.broker
	}
	return m.host
}

// startClocked runs such a broker until the test ends.
func startClocked(t *testing.T) (url string, c *clock) {
	t.Helper()
	path, err := clockedBroker()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	set, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	told, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	c = &clock{set: set, heard: bufio.NewScanner(told)}
	if url, err = c.hear(); err != nil {
		t.Fatal(err)
	}
	return url, c
}

func (c *clock) hear() (string, error) {
	if !c.heard.Scan() {
		return "", fmt.Errorf("the broker ended: %w", errors.Join(c.heard.Err(), io.EOF))
	}
	return c.heard.Text(), nil
}

// setClock sets the broker's clock ahead of this host's, or back where by is negative.
func (c *clients) setClock(by time.Duration) {
	_, err := fmt.Fprintln(c.clock.set, int64(by/time.Second))
	c.must(err)
	_, err = c.clock.hear()
	c.must(err)
	c.clock.ahead = by
}
