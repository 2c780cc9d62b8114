//go:build unix

package testkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fastSettings suit data that nobody needs tomorrow. A commit still survives the death of the server, though not of the machine.
var fastSettings = []string{
	"fsync=off", "full_page_writes=off", "shared_buffers=128MB", "max_connections=200",
	"listen_addresses=", "autovacuum_naptime=10", "timezone=UTC", "log_min_messages=warning", "max_wal_size=1GB",
}

// Cluster is a throw-away Postgres server that listens on a unix socket in a directory of its own. A guard process holds the
// other end of a pipe: when the test binary ends, even by panic, timeout or kill -9, the guard stops the server and removes the
// directory.
type Cluster struct {
	bin      string // Directory of the server's programs.
	dir      string // Holds data, socket and log.
	settings []string
	owner    *syscall.SysProcAttr
	guard    *exec.Cmd
	leash    *os.File // Closing it releases the guard.
}

func startCluster(settings []string) (*Cluster, error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, settings: settings}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	if err := c.startGuard(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	if err := c.run("initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"); err != nil {
		c.remove()
		return nil, err
	}
	if err := c.start(); err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

// findPostgres finds the newest server of Debian's packages, else the one on the PATH.
func findPostgres() (string, error) {
	newest, version := "", -1
	matches, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	for _, m := range matches {
		v, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(m))))
		if err == nil && v > version {
			newest, version = filepath.Dir(m), v
		}
	}
	if newest != "" {
		return newest, nil
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(initdb), nil
	}
	return "", errors.New("initdb is neither under /usr/lib/postgresql/*/bin nor on the PATH; install a Postgres server, " +
		"on Debian with: apt-get install postgresql")
}

// prepare makes the directory and decides who owns it: the server refuses to run as root, so root hands it to user postgres.
func (c *Cluster) prepare() error {
	c.owner = &syscall.SysProcAttr{Setpgid: true}
	dir, err := os.MkdirTemp("", "fleetglass-postgres-")
	if err != nil {
		return err
	}
	c.dir = dir
	if os.Geteuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return fmt.Errorf("the server does not run as root, and there is no user postgres to run it as: %w", err)
	}
	uid, errUID := strconv.ParseUint(account.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(errUID, errGID); err != nil {
		return err
	}
	c.owner.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(dir, int(uid), int(gid))
}

// guardScript waits for the end of its input, then cleans up. The data directory goes as a whole, so the server need not shut
// down in good order.
const guardScript = `cat >/dev/null; "$1/pg_ctl" -D "$2/data" -m immediate -w -t 30 stop >/dev/null 2>&1; rm -rf "$2"`

func (c *Cluster) startGuard() error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	c.guard = exec.Command("/bin/sh", "-c", guardScript, "guard", c.bin, c.dir)
	c.guard.Stdin, c.guard.SysProcAttr, c.guard.Dir = read, c.owner, "/"
	c.leash = write
	return c.guard.Start()
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// url is the address of a database of the cluster.
func (c *Cluster) url(database string) string {
	return "postgres://postgres@/" + database + "?host=" + url.QueryEscape(c.dir)
}

func (c *Cluster) run(program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, program), args...)
	cmd.SysProcAttr, cmd.Dir, cmd.Stderr = c.owner, c.dir, &said
	cmd.WaitDelay = time.Second // The server inherits standard error; only the program itself is waited for.
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		log, _ := os.ReadFile(c.log())
		return fmt.Errorf("%s: %w: %s%s", program, err, said.Bytes(), log)
	}
	return nil
}

func (c *Cluster) log() string { return filepath.Join(c.dir, "log") }

func (c *Cluster) start() error {
	options := "-k " + c.dir
	for _, s := range c.settings {
		options += " -c " + s
	}
	return c.run("pg_ctl", "-D", c.data(), "-l", c.log(), "-o", options, "-w", "-t", "60", "start")
}

// Kill ends the server at once, as a power cut would: SIGKILL to all its processes. Connections are broken when it returns.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		t.Fatalf("kill Postgres: %v", err)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	main, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("kill Postgres: read postmaster.pid: %v", err)
	}
	processes := append([]int{main}, childrenOf(main)...)
	for _, pid := range processes {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatalf("kill Postgres: %v", err)
		}
	}
	deadline := time.Now().Add(startTimeout)
	for slices.ContainsFunc(processes, alive) {
		if time.Now().After(deadline) {
			t.Fatal("kill Postgres: its processes do not end")
		}
		time.Sleep(time.Millisecond)
	}
}

// childrenOf lists the processes that a process started.
func childrenOf(pid int) []int {
	content, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	var out []int
	for _, text := range strings.Fields(string(content)) {
		if child, err := strconv.Atoi(text); err == nil {
			out = append(out, child)
		}
	}
	return out
}

// alive reports whether a process runs. One that has ended and waits for its parent does not.
func alive(pid int) bool {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(content), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// Stop shuts the server down in good order, breaking connections.
func (c *Cluster) Stop(t testing.TB) {
	t.Helper()
	if err := c.run("pg_ctl", "-D", c.data(), "-m", "fast", "-w", "stop"); err != nil {
		t.Fatalf("stop Postgres: %v", err)
	}
}

// Start starts a server that was killed or stopped. After a kill it waits until the last of the old processes is gone.
func (c *Cluster) Start(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(startTimeout)
	for {
		err := c.start()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("start Postgres again: %v", err)
		}
	}
}

// remove stops the server and removes its directory.
func (c *Cluster) remove() {
	_ = c.leash.Close()
	_ = c.guard.Wait()
}
