package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// output gathers what a process writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// program starts the program as a process of its own.
func program(t *testing.T, env []string, args ...string) (*exec.Cmd, *output) {
	t.Helper()
	cmd, out := exec.CommandContext(t.Context(), os.Args[0], args...), &output{}
	cmd.Env = append(testkit.ProgramEnv("FLEETGLASS_TEST_BE_THE_PROGRAM=1"), env...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // Its directory is removed next.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, out
}

func TestSIGTERMEndsTheProcessInGoodOrder(t *testing.T) {
	t.Parallel()
	cmd, out := program(t, []string{"FLEETGLASS_PREFIX=acme"}, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	address := strings.TrimPrefix(servedAt(t, out), "http://")
	check, checked := program(t, nil, "healthcheck", "--listen", address)
	if err := check.Wait(); err != nil {
		t.Errorf("healthcheck: %v: %s", err, checked)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("exit: %v\n%s", err, out)
	}
	if log := out.String(); !strings.Contains(log, "settings.prefix=acme") || strings.Count(log, "settings.") < 10 || !strings.Contains(log, "msg=stopped") {
		t.Errorf("the log lacks the effective settings or the end:\n%s", log)
	}
	check, _ = program(t, nil, "healthcheck", "--listen", address)
	if err := check.Wait(); err == nil {
		t.Error("healthcheck of a stopped server succeeds")
	}
}

type errLog string

func (e errLog) Error() string { return "the log is:\n" + string(e) }

func TestAWrongConfigurationExitsWithCodeTwo(t *testing.T) {
	t.Parallel()
	cmd, out := program(t, []string{"FLEETGLASS_RETENTION=soon"}, "--listen", "0.0.0.0:0", "--max-body", "huge")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("exit: %v, want code 2", err)
	}
	for _, want := range []string{"--retention (FLEETGLASS_RETENTION)", "--listen", "--max-body", "FLEETGLASS_TOKEN"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the message lacks %q:\n%s", want, out)
		}
	}
}

func TestANewTokenOpensTheDoor(t *testing.T) {
	t.Parallel()
	var file, shown strings.Builder
	if code := run(t.Context(), []string{"token", "--name", "grafana", "--scopes", "read,report"}, vars(), &file, &shown); code != 0 {
		t.Fatalf("exit code %d: %s", code, &shown)
	}
	token := regexp.MustCompile(`fg_\S+`).FindString(shown.String())
	if token == "" || strings.Contains(file.String(), token) {
		t.Fatalf("token %q, file:\n%s", token, &file)
	}
	r := start(t, settings(t, "--auth-tokens-file", writeFile(t, "tokens.yaml", file.String())))
	if got := r.request("GET", "/api/v1/tasks", map[string][]string{"Authorization": {"Bearer " + token}}, nil); got.StatusCode != 200 {
		t.Errorf("with the token: %s", got.Status)
	}
	if got := r.request("GET", "/api/v1/tasks", map[string][]string{"Authorization": {"Bearer " + token + "x"}}, nil); got.StatusCode != 401 {
		t.Errorf("with another token: %s", got.Status)
	}
}

func TestTheBrokerOfTheComposeFileShowsPublishAttempts(t *testing.T) {
	t.Setenv("NATS_PASSWORD", "password")
	options, err := server.ProcessConfigFile("../../deploy/nats/nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port, options.HTTPPort, options.StoreDir = "127.0.0.1", server.RANDOM_PORT, 0, t.TempDir()
	broker := testkit.BrokerWith(t, options)
	nc, err := nats.Connect(broker.ClientURL(), nats.UserInfo("fleet", "password"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: fleet.NewContract("")})
	if err != nil {
		t.Fatal(err)
	}
	if !plan.SelfImport.Fed {
		t.Errorf("publish attempts do not arrive under obs.raw.>: %s", plan)
	}
}
