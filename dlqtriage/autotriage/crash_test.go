package autotriage_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/dlqtriage/autotriage"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/internal/webhook"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

// envChild makes the test binary a desk: the broker's address, the store's file, the webhook and the step at which it kills itself, separated by bars.
const envChild = "FLEETGLASS_TEST_DESK"

// beTheDesk decides and tells until it is killed, and prints the steps that it takes.
func beTheDesk() {
	parts := strings.Split(os.Getenv(envChild), "|")
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	nc, err := nats.Connect(parts[0])
	must(err)
	js, err := jetstream.New(nc)
	must(err)
	store, err := sqlite.Open(ctx, sqlite.Config{Path: parts[1]})
	must(err)
	cfg, err := config(js, store, dlqtriage.DefaultPolicy)
	must(err)
	toCEO(&cfg)
	cfg.Webhook, err = webhook.New(webhook.Config{URL: parts[2], HTTP: &http.Client{}})
	must(err)
	cfg.Lease, cfg.Step = 300*time.Millisecond, func(step string) {
		fmt.Println("step", step)
		if step == parts[3] {
			must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
			select {}
		}
	}
	d, err := autotriage.New(cfg)
	must(err)
	must(d.Run(ctx))
}

// child runs such a process until it kills itself, or until enough says so. It returns the steps that it took.
func (h *haunted) child(dieAt string, enough func() bool) (steps []string) {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"="+strings.Join([]string{h.url, h.path, h.hook, dieAt}, "|"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		step, ok := strings.CutPrefix(lines.Text(), "step ")
		if !ok {
			h.t.Errorf("the desk says %q", lines.Text())
		}
		steps = append(steps, step)
		if enough != nil && enough() {
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil {
		h.t.Error("the desk ended by itself")
	}
	return steps
}

// deskSteps are all that a desk does that changes something.
var deskSteps = []string{"decide", "escalate", "claim", "publish", "post", "settle"}

// deskPoints are the places at which it may die: before and after each step is between any two.
func deskPoints() (out []string) {
	for _, step := range deskSteps {
		out = append(out, "before "+step, "after "+step)
	}
	return out
}

// haunted is an office whose desks die.
type haunted struct {
	*office
	url, path, hook string

	mu    sync.Mutex
	posts map[string]string // By the id of the post, the body.
}

func newHaunted(t *testing.T) *haunted {
	t.Helper()
	srv := testkit.Broker(t)
	h := &haunted{url: srv.URL(), path: filepath.Join(t.TempDir(), "store.db"), posts: map[string]string{}}
	h.office = &office{t: t, js: testkit.JetStream(t, srv)}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		h.posts[r.Header.Get("webhook-id")] = string(body)
	}))
	t.Cleanup(hook.Close)
	h.hook = hook.URL
	return h
}

// look opens the store for a moment.
func (h *haunted) look(see func()) {
	h.t.Helper()
	store, err := sqlite.Open(h.t.Context(), sqlite.Config{Path: h.path})
	if err != nil {
		h.t.Fatal(err)
	}
	h.store = store
	see()
	if err := store.Close(); err != nil {
		h.t.Error(err)
	}
}

// toldAll reports whether the broker and the webhook have been told of so many entries.
func (h *haunted) toldAll(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	stream, err := h.js.Stream(h.t.Context(), fleet.StreamTasks)
	return err == nil && len(h.posts) >= n && stream.CachedInfo().State.Msgs >= uint64(n)
}

// TestKilledAtEveryStepItDecidesAndTellsOnce kills one desk after the other with SIGKILL, each at another point, and has a last one end what they left:
// each entry has one decision, and its escalation is one task and one post, whose id is the same however often it is sent.
func TestKilledAtEveryStepItDecidesAndTellsOnce(t *testing.T) {
	t.Parallel()
	h := newHaunted(t)
	var retried, told []string
	for _, p := range deskPoints() {
		h.look(func() {
			retried = append(retried, h.dies("cto", "code_review", dlqtriage.Transient, "network_transient"))
			told = append(told, h.dies("cto", "code_review", dlqtriage.Permanent, "authority_exceeded"))
		})
		if steps := h.child(p, nil); len(steps) == 0 || steps[len(steps)-1] != p {
			t.Fatalf("it was to die %s, and did %v", p, steps)
		}
	}
	settled := 0
	for _, step := range h.child("", func() bool { settled++; return settled > 20 && h.toldAll(len(told)) }) {
		if !slices.Contains(append(deskPoints(), "before give back", "after give back"), step) {
			t.Errorf("no process died at the point %q", step)
		}
	}
	h.look(func() { h.once(retried, told) })
}

// TestAnEscalationThatCameIsNotPublishedAgainByAStreamThatForgotIt has a desk die after it published, and the next one come when the stream does not know
// the message id any more.
func TestAnEscalationThatCameIsNotPublishedAgainByAStreamThatForgotIt(t *testing.T) {
	t.Parallel()
	h := newHaunted(t)
	stream, err := h.js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.Duplicates = 100 * time.Millisecond // Less than the lease, after which the next desk comes.
	if _, err := h.js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	var told string
	h.look(func() { told = h.dies("cto", "code_review", dlqtriage.Permanent, "authority_exceeded") })
	h.child("after publish", nil)
	h.look(func() { h.published(1, "triage:"+told) })
	h.child("after settle", nil)
	settles := 0
	h.child("", func() bool { settles++; return settles > 20 && h.toldAll(1) })
	if got := h.tasks()["triage:"+told]; got != 1 {
		t.Errorf("the CEO agent was told %d times, want once", got)
	}
}

// published tells the store what capture would of a message in TASKS.
func (h *haunted) published(seq uint64, task string) {
	h.t.Helper()
	e := lifecycle.Event{
		ID: lifecycle.NewEventID("seen", task), Kind: lifecycle.Published, Provenance: lifecycle.Observed, At: lifecycle.MicrosOf(time.Now()), TaskID: task, Agent: "ceo",
		Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: fleet.StreamTasks, Epoch: 1}, Seq: seq},
	}
	e.Detail.Subject, e.Detail.MsgID, e.Detail.Type = contract.TaskSubject("ceo", "triage"), task, "triage"
	if _, err := h.store.Append(h.t.Context(), lifecycle.Batch{Events: []lifecycle.Event{e}}); err != nil {
		h.t.Fatal(err)
	}
}

// once holds every entry to one decision, and what was told to one task and one post.
func (h *haunted) once(retried, told []string) {
	h.t.Helper()
	records := map[string][]string{}
	for _, r := range append(h.records("retry", len(retried)), h.records("escalate", len(told))...) {
		records[r.Target] = append(records[r.Target], r.Action)
	}
	for _, id := range retried {
		actions, err := h.store.ActionsOn(h.t.Context(), subjectOf(h.t, id), 10)
		if err != nil || len(actions) != 1 || !slices.Equal(records[id], []string{"retry"}) {
			h.t.Errorf("%s has the actions %+v and the records %v, %v; want one retry", id, actions, records[id], err)
		}
	}
	tasks, posts := h.tasks(), h.posted()
	for _, id := range told {
		if tasks["triage:"+id] != 1 || posts[id] != 1 || !slices.Equal(records[id], []string{"escalate"}) {
			h.t.Errorf("%s was told by %d tasks and %d posts, with the records %v; want one of each", id, tasks["triage:"+id], posts[id], records[id])
		}
	}
	if len(tasks) != len(told) || len(posts) != len(told) {
		h.t.Errorf("%d tasks and %d posts, want %d of each", len(tasks), len(posts), len(told))
	}
}

func subjectOf(t *testing.T, entry string) decision.Subject {
	t.Helper()
	key, err := dlqtriage.ParseEntryID(entry)
	if err != nil {
		t.Fatal(err)
	}
	return decision.About(key)
}

// tasks counts the messages in TASKS by task.
func (h *haunted) tasks() map[string]int {
	h.t.Helper()
	stream, err := h.js.Stream(h.t.Context(), fleet.StreamTasks)
	if err != nil {
		h.t.Fatal(err)
	}
	out, state := map[string]int{}, stream.CachedInfo().State
	for seq := max(state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
		m, err := stream.GetMsg(h.t.Context(), seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			h.t.Fatal(err)
		}
		out[m.Header.Get(fleet.HeaderTaskID)]++
	}
	return out
}

// posted counts what the webhook was told, by entry: a repeated id is the same post.
func (h *haunted) posted() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]int{}
	for _, body := range h.posts {
		_, rest, _ := strings.Cut(body, `"entry_id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		out[id]++
	}
	return out
}
