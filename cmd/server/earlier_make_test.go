package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
)

// The stored servers are what an earlier program left behind, one on each kind of store. Before a release, build the program of the previous one
// and make them anew: `go test ./cmd/server -run EarlierProgramAreStored -earlier /path/to/fleetglass -earlier-name v1.2.3`.
//
// Those in testdata were made by d353a75 of 2026-11-22, the oldest commit that decides about dead letters by itself as the demonstration does:
// rules of version 22 and the first six migrations, beside version 35 and 13 migrations when they were made.
var (
	earlierProgram = flag.String("earlier", "", "an earlier `program`, whose data is stored anew in testdata")
	earlierName    = flag.String("earlier-name", "", "release or commit of that program")
)

// earlierStores are the kinds of stores.
var earlierStores = []string{"sqlite", "postgres"}

const databaseDump = "database.dump" // In the directory of a server on Postgres.

// earlierDirectory is the packed data directory of an earlier server, and earlierAnswers what it answered.
func earlierDirectory(store string) string { return "testdata/earlier-" + store + ".tar.gz" }
func earlierAnswers(store string) string   { return "testdata/earlier-" + store + ".json" }

// quietly are settings with which nothing decides about dead letters, and nothing is deleted however old the directory is.
var quietly = []string{"--dlq-monitor", "off", "--auto-triage", "off", "--retention", "36500d"}

func TestTheServersOfAnEarlierProgramAreStored(t *testing.T) {
	if *earlierProgram == "" {
		t.Skip("-earlier names no program")
	}
	for _, store := range earlierStores {
		t.Run(store, func(t *testing.T) { storeEarlier(t, store) })
	}
}

func storeEarlier(t *testing.T, store string) {
	dir := t.TempDir()
	args := []string{"--data-dir", dir}
	var database string
	if store == "postgres" {
		database = testkit.Postgres(t)
		args = append(args, "--database-url", database)
	}
	fleet := startEarlier(t, append(args, "--demo", "--demo-rate", "3")...)
	testkit.Eventually(t, 3*time.Minute, func() error {
		var got struct{ Counts map[string]int }
		if err := fleet.get("/api/v1/tasks/counts", &got); err != nil {
			return err
		}
		if got.Counts["completed"] < 60 || got.Counts["dead_lettered"] < 3 || got.Counts["triaged"] < 3 {
			return fmt.Errorf("the demonstration has %v", got.Counts)
		}
		return nil
	})
	fleet.end()

	plain := startEarlier(t, append(args, quietly...)...)
	a := connectArchivist(t, plain.broker())
	a.recordAsRemoved(plain.get)
	a.everyState(plain.get)
	answers := asked(t, plain.get)
	answers.Program = *earlierName
	a.nc.Close()
	plain.end()
	if database != "" {
		testkit.DumpPostgres(t, database, filepath.Join(dir, databaseDump))
	}
	packDirectory(t, dir, earlierDirectory(store))
	text, err := json.MarshalIndent(answers, "", " ")
	if err == nil {
		err = os.WriteFile(earlierAnswers(store), append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// archivist is a plain client with an agent of its own, so that the demonstration takes none of its tasks.
type archivist struct {
	agent
	nc *nats.Conn
}

func connectArchivist(t *testing.T, address string) *archivist {
	t.Helper()
	nc, err := nats.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	a := &archivist{agent: agent{t: t, js: js}, nc: nc}
	a.consumer, err = js.CreateOrUpdateConsumer(t.Context(), "TASKS", jetstream.ConsumerConfig{
		Durable: "archivist-task-worker", FilterSubject: "genbrain.agents.archivist.tasks.>", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: 24 * time.Hour, MaxDeliver: 3,
	})
	a.do(err)
	return a
}

func (a *archivist) publish(id string) (seq uint64) {
	a.t.Helper()
	msg := nats.NewMsg("genbrain.agents.archivist.tasks.filing")
	msg.Header.Set("Nats-Msg-Id", id)
	msg.Data = []byte(`{"taskId":"` + id + `","type":"filing","payload":{"title":"File the minutes"}}`)
	ack, err := a.js.PublishMsg(a.t.Context(), msg)
	a.do(err)
	return ack.Sequence
}

// until waits for a task's state.
func (a *archivist) until(get func(string, any) error, id, state string) {
	a.t.Helper()
	testkit.Eventually(a.t, patience, func() error {
		var task keptTask
		if err := get("/api/v1/tasks/"+id, &task); err != nil {
			return err
		}
		if task.State != state {
			return fmt.Errorf("%s is %+v, want %s", id, task, state)
		}
		return nil
	})
}

// everyState brings a task into each state that a plain client can bring one into. What is in hand or due again stays so for a day.
func (a *archivist) everyState(get func(string, any) error) {
	a.t.Helper()
	tasks, err := a.js.Stream(a.t.Context(), "TASKS")
	a.do(err)
	forever := tasks.CachedInfo().Config
	forever.MaxAge = 0
	_, err = a.js.UpdateStream(a.t.Context(), forever)
	a.do(err)
	for _, c := range []struct {
		state string
		bring func(seq uint64)
	}{
		{"completed", func(uint64) { a.publish("kept-completed"); a.do(a.take().Ack()) }},
		{"terminated", func(uint64) { a.do(a.take().TermWithReason("no such file")) }},
		{"exhausted", func(uint64) { a.useUp() }},
		{"removed", func(seq uint64) { a.do(tasks.DeleteMsg(a.t.Context(), seq)) }},
		{"outcome_unknown", func(seq uint64) {
			a.take()
			a.until(get, "kept-outcome_unknown", "delivered")
			a.do(tasks.DeleteMsg(a.t.Context(), seq))
		}},
		{"redelivered", func(uint64) { a.do(a.take().Nak()); a.take() }},
		{"failed", func(uint64) { a.do(a.take().NakWithDelay(24 * time.Hour)) }},
		{"delivered", func(uint64) { a.take() }},
		{"processing", func(uint64) { a.do(a.take().InProgress()) }},
		{"published", func(uint64) {}},
	} {
		id := "kept-" + c.state
		seq := a.publish(id)
		a.until(get, id, "published")
		c.bring(seq)
		a.until(get, id, c.state)
	}
}

// recordAsRemoved deletes a message while its worker has it, and right after a record of its completion was written: once that was a completion.
func (a *archivist) recordAsRemoved(get func(string, any) error) {
	a.t.Helper()
	const id = "kept-recorded-as-removed"
	seq := a.publish(id)
	a.take()
	a.until(get, id, "delivered")
	records, err := a.js.KeyValue(a.t.Context(), "task-idempotency")
	a.do(err)
	tasks, err := a.js.Stream(a.t.Context(), "TASKS")
	a.do(err)
	now := time.Now()
	_, err = records.Put(a.t.Context(), id, fmt.Appendf(nil, `{"taskId":%q,"agentId":"archivist","completedAt":%d,"natsStreamSeq":%d,"expiresAt":%d}`,
		id, now.UnixMilli(), seq, now.AddDate(1, 0, 0).UnixMilli()))
	a.do(err)
	a.do(tasks.DeleteMsg(a.t.Context(), seq))
	a.until(get, id, judgedOtherwise[id].was)
}

// useUp hands a message back until the broker gives it up, which it says at the next pull.
func (a *archivist) useUp() {
	a.t.Helper()
	for range 3 {
		a.do(a.take().Nak())
	}
	if _, err := a.consumer.Next(jetstream.FetchMaxWait(time.Second)); !errors.Is(err, nats.ErrTimeout) {
		a.t.Errorf("a pull after the last attempt: %v, want a timeout", err)
	}
}

// process is a server of another program.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
}

func startEarlier(t *testing.T, args ...string) *process {
	t.Helper()
	out := &output{}
	cmd := exec.CommandContext(t.Context(), *earlierProgram, append([]string{"--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0"}, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, address: servedAt(t, out)}
	testkit.Eventually(t, patience, func() error { return p.get("/readyz", &struct{}{}) })
	return p
}

func (p *process) get(path string, into any) error {
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.address+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// broker is where agents connect.
func (p *process) broker() string {
	p.t.Helper()
	var ready json.RawMessage
	if err := p.get("/readyz", &ready); err != nil {
		p.t.Fatal(err)
	}
	return regexp.MustCompile(`nats://[0-9.:]+`).FindString(string(ready))
}

func (p *process) end() {
	p.t.Helper()
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	if err == nil {
		err = p.cmd.Wait()
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func packDirectory(t *testing.T, dir, file string) {
	t.Helper()
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	w := tar.NewWriter(z)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), z.Close(), os.WriteFile(file, packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func unpackDirectory(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = unpackFile(r, filepath.Join(dir, filepath.FromSlash(h.Name)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackFile(r io.Reader, path string) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600))
}
