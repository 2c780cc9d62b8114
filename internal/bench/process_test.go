//go:build linux

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// patience bounds every wait for something that is sure to come.
const patience = 2 * time.Minute

// process is a process of its own that dies with the test, whatever happens to the test.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string        // File of everything that it writes.
	done chan struct{} // Closed when it has ended.
}

var starts atomic.Int64

// start runs a program with its output in a file of dir.
func start(t testing.TB, dir, name, path string, env []string, args ...string) *process {
	t.Helper()
	p := &process{name: name, log: filepath.Join(dir, fmt.Sprintf("%s-%03d.log", name, starts.Add(1))), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(path, args...)
	p.cmd.Env = testkit.ProgramEnv(env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, errors.Join(err, log.Close()))
	}
	go func() {
		_ = p.cmd.Wait() // Ended by a signal.
		_ = log.Close()
		close(p.done)
	}()
	t.Cleanup(p.kill)
	return p
}

// startRole runs the test binary in one of its roles.
func startRole(t testing.TB, dir, role string, what any) *process {
	t.Helper()
	order, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, dir, role, os.Args[0], []string{envRole + "=" + role, envOrder + "=" + string(order)})
}

// kill ends the process at once and waits for that. It may be called again.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop asks the process to end and waits.
func (p *process) stop(t testing.TB) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("%s does not end:\n%s", p.name, p.output())
	}
}

// output is what the process has written so far, its end where that is long.
func (p *process) output() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// megabytes reads VmRSS or VmHWM (the highest it ever was) of the process, in MB of a million bytes.
func (p *process) megabytes(t testing.TB, what string) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, what+":"); found {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb * 1024 / 1e6
		}
	}
	t.Fatalf("%s: no %s in its status", p.name, what)
	return 0
}
