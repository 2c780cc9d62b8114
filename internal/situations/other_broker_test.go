//go:build linux

package situations

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fleetglass/fleet"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// otherBroker is the file of a built nats-server on which the rows are played, instead of the one that is compiled in; empty for none. `make brokers`
// sets it.
var otherBroker = os.Getenv("FLEETGLASS_BROKER")

// otherMinor is the minor version of that broker, 12 of 2.12.15; zero where there is none.
var otherMinor = sync.OnceValue(func() (minor int) {
	if otherBroker == "" {
		return 0
	}
	said, err := exec.Command(otherBroker, "--version").Output()
	if n, _ := fmt.Sscanf(string(said), "nats-server: v2.%d", &minor); err != nil || n != 1 {
		panic(fmt.Sprintf("%s tells no version: %q, %v", otherBroker, said, err))
	}
	return minor
})

// holdsHere reports whether a row holds on the broker that it would be played on.
func (s situation) holdsHere() bool { return brokerSince(s.since) }

// brokerSince reports whether the broker is of a minor version of nats-server 2, or of a later one.
func brokerSince(minor int) bool { return otherBroker == "" || otherMinor() >= minor }

// startOther runs that broker, with the configuration of the embedded one, until the test ends.
func startOther(t *testing.T) (url string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("listen: \"127.0.0.1:-1\"\nports_file_dir: %q\nmax_payload: 8388608\njetstream { store_dir: %q }\nno_auth_user: fleet\n"+
		"accounts { FLEET { jetstream: enabled, users: [ { user: fleet, password: unused } ]\n%s } }", dir, dir, fleet.NewContract("").SelfImport("FLEET"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(otherBroker, "-c", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(patience); ; pause(t.Context(), 20*time.Millisecond) {
		url, err := portOf(dir)
		if err == nil {
			var nc *nats.Conn
			if nc, err = nats.Connect(url); err == nil {
				nc.Close()
				return url
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the broker does not answer: %v", err)
		}
	}
}

// portOf is where a broker listens, which it writes into a file.
func portOf(dir string) (url string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.ports"))
	if err != nil || len(files) == 0 {
		return "", errors.Join(err, errors.New("it listens nowhere yet"))
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return "", err
	}
	var ports struct {
		Nats []string `json:"nats"`
	}
	if err := json.Unmarshal(text, &ports); err != nil || len(ports.Nats) == 0 {
		return "", errors.Join(err, errors.New("it names no port"))
	}
	return ports.Nats[0], nil
}

// TestTheOtherBrokerIsProvisionedOnce: what is made on a broker of another version is as it should be when it is looked at again.
func TestTheOtherBrokerIsProvisionedOnce(t *testing.T) {
	t.Parallel()
	if otherBroker == "" {
		t.Skip("FLEETGLASS_BROKER names no nats-server; make brokers tries several")
	}
	w := newWorld(t, ordinary)
	plan, err := fleet.NewPlan(t.Context(), w.connect(t), fleet.Streams{Contract: fleet.NewContract("")})
	if err != nil {
		t.Fatal(err)
	}
	if !plan.Empty() {
		t.Errorf("provisioning again would change something:\n%s", plan)
	}
	dedupes := otherMinor() < 14
	if old := strings.Contains(plan.String(), "older than nats-server 2.14"); old != dedupes {
		t.Errorf("the plan says that the broker is older than 2.14: %t", old)
	}
	if err := w.look(t); err != nil {
		t.Fatal(err)
	}
	js := w.connect(t)
	if _, err := js.Publish(t.Context(), "genbrain.agents.cto.tasks.review", nil, jetstream.WithMsgID("first")); err != nil { // Before it nobody knows whether OBS_RAW is fed.
		t.Fatal(err)
	}
	says := "OBS_RAW leaves out what is published again"
	for deadline := time.Now().Add(patience); ; pause(t.Context(), sampling) {
		var ready json.RawMessage
		err := w.glass.ask(t.Context(), "/readyz", &ready)
		if err == nil && strings.Contains(string(ready), says) == dedupes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("older than 2.14: %t; /readyz says: %s (%v)", dedupes, ready, err)
		}
	}
}
