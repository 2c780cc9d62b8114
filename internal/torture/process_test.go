//go:build linux

package torture

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// process is a process of its own that dies with the test, whatever happens to the test.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string        // File of everything that it writes.
	done chan struct{} // Closed when it has ended.
	err  error         // How it ended; read after done.
}

// starts numbers the logs.
var starts atomic.Int64

// start runs a program with its output in a file of dir.
func start(t *testing.T, dir, name, path string, env []string, args ...string) *process {
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
		p.err = p.cmd.Wait()
		_ = log.Close()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.done
	})
	return p
}

// startRole runs the test binary in one of its roles.
func startRole(t *testing.T, dir, role string, what any) *process {
	t.Helper()
	return start(t, dir, role, os.Args[0], []string{envRole + "=" + role, envOrder + "=" + order(t, what)})
}

// signal sends a signal; a process that has ended ignores it.
func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends the process at once and waits for that.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// ended reports whether the process runs no more.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks the process to end and waits; an end that is not in good order fails the test.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("%s does not end; its log ends with:\n%s", p.name, p.tail())
	}
	if p.err != nil {
		t.Errorf("%s ended with %v; its log ends with:\n%s", p.name, p.err, p.tail())
	}
}

// output is everything that the process has written so far.
func (p *process) output() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// tail is the end of the output.
func (p *process) tail() string {
	text := p.output()
	return text[max(0, len(text)-4000):]
}

// workDir is where a test keeps its files.
func workDir(t *testing.T) string {
	t.Helper()
	root := os.Getenv(envDir)
	if root == "" {
		return t.TempDir()
	}
	dir := filepath.Join(root, t.Name())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// patience bounds every wait for something that is sure to come.
const patience = 60 * time.Second
