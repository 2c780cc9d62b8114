package autotriage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/dlqtriage/autotriage"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/internal/webhook"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		beTheDesk()
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(testkit.BrokerGoroutine))
}

const patience = 60 * time.Second

var contract = fleet.NewContract("")

// entryStore is a store as a desk and its tests need it.
type entryStore interface {
	autotriage.Store
	decision.Reader
	dlqtriage.EntryReader
	dlqtriage.TaskReader
	lifecycle.Appender
	Close() error
}

// office is a store with dead letters, a broker, and desks.
type office struct {
	t      *testing.T
	js     jetstream.JetStream
	store  entryStore
	policy *dlqtriage.Policy
	seq    uint64
}

func newOffice(t *testing.T) *office {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	return newOfficeOf(t, store)
}

func newOfficeOf(t *testing.T, store entryStore) *office {
	t.Helper()
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	policy := *dlqtriage.DefaultPolicy()
	return &office{t: t, js: testkit.JetStream(t, testkit.Broker(t)), store: store, policy: &policy}
}

// unread is the category of what has no entry in the queue yet: nobody has looked at it.
const unread dlqtriage.Category = ""

// dies tells of a task that died, and of its entry in the queue with this class. It returns the entry's id.
func (o *office) dies(agent, taskType string, category dlqtriage.Category, detail string) string {
	o.t.Helper()
	o.seq++
	id, at := fmt.Sprint("task-", o.seq), lifecycle.MicrosOf(time.Now().Add(-time.Minute)).Add(time.Duration(o.seq)*time.Second)
	key := lifecycle.MessageKey{Stream: contract.StreamID(fleet.StreamTasks), Seq: o.seq}
	event := func(kind lifecycle.Kind, n int) lifecycle.Event {
		return lifecycle.Event{ID: lifecycle.NewEventID(id, string(kind)), Kind: kind, Provenance: kind.Row().Provenance, At: at + lifecycle.Micros(n), Message: key, Agent: agent}
	}
	stored, died, entry := event(lifecycle.Published, 0), event(lifecycle.MaxDeliveries, 1), event(lifecycle.DeadLettered, 2)
	stored.TaskID, stored.Detail.Subject, stored.Detail.MsgID, stored.Detail.Type = id, contract.TaskSubject(agent, taskType), id, taskType
	died.Attempt, died.Consumer = 3, fleet.WorkerName(agent)
	entry.Detail.Entry, entry.Detail.Category, entry.Detail.CategoryDetail = fmt.Sprint("DLQ:", o.seq), string(category), detail
	entry.Detail.Path, entry.Detail.Reason = "max_deliveries", detail+": said so"
	body := `{"taskId":"` + id + `"}`
	events := []lifecycle.Event{stored, died, entry}
	if category == unread {
		events = events[:2]
	}
	_, err := o.store.Append(o.t.Context(), lifecycle.Batch{
		Events:   events,
		Payloads: []lifecycle.Payload{{Message: key, Body: []byte(body), Size: int64(len(body)), At: at}},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return dlqtriage.EntryID(key)
}

// config is a desk's, faster than life.
func config(js jetstream.JetStream, store entryStore, policy func() *dlqtriage.Policy) (autotriage.Config, error) {
	actions, err := dlqtriage.NewActions(dlqtriage.ActionsConfig{Entries: store, Tasks: store, Decisions: store, Policy: policy, Contract: contract})
	return autotriage.Config{
		JetStream: js, Contract: contract, Store: store, Actions: actions, Policy: policy, Decides: true,
		Every: 20 * time.Millisecond, BaseURL: func() string { return "http://glass" },
	}, err
}

// open runs so many desks until the test, or what it returns, ends them.
func (o *office) open(desks int, change func(*autotriage.Config)) (end func()) {
	o.t.Helper()
	var ends []func()
	for range desks {
		cfg, err := config(o.js, o.store, func() *dlqtriage.Policy { return o.policy })
		if err != nil {
			o.t.Fatal(err)
		}
		if change != nil {
			change(&cfg)
		}
		d, err := autotriage.New(cfg)
		if err != nil {
			o.t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		ends = append(ends, sync.OnceFunc(func() {
			cancel()
			if err := <-done; err != nil {
				o.t.Error(err)
			}
		}))
		o.t.Cleanup(ends[len(ends)-1])
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

func toCEO(cfg *autotriage.Config) { cfg.Subject = contract.TaskSubject("ceo", "triage") }

// records waits until the desk has decided so often about anything.
func (o *office) records(action string, n int) []decision.AuditRecord {
	o.t.Helper()
	var got []decision.AuditRecord
	testkit.Eventually(o.t, patience, func() (err error) {
		got, _, err = o.store.Audit(o.t.Context(), decision.AuditFilter{Actor: autotriage.Actor, Action: action}, nil, 100)
		if err == nil && len(got) != n {
			err = fmt.Errorf("%d records of %s, want %d", len(got), action, n)
		}
		return err
	})
	return got
}

// told waits for so many tasks of the CEO agent.
func (o *office) told(n uint64) []*jetstream.RawStreamMsg {
	o.t.Helper()
	var out []*jetstream.RawStreamMsg
	testkit.Eventually(o.t, patience, func() error {
		stream, err := o.js.Stream(o.t.Context(), fleet.StreamTasks)
		if err != nil {
			return err
		}
		if got := stream.CachedInfo().State.Msgs; got != n {
			return fmt.Errorf("%d tasks, want %d", got, n)
		}
		out = nil
		for seq := uint64(1); seq <= n; seq++ {
			m, err := stream.GetMsg(o.t.Context(), seq)
			if err != nil {
				return err
			}
			out = append(out, m)
		}
		return nil
	})
	return out
}

func TestThePolicysPlansAreAppliedAndTheRestIsToldOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	transient := o.dies("cto", "code_review", dlqtriage.Transient, "network_transient")
	permanent := o.dies("cto", "code_review", dlqtriage.Permanent, "authority_exceeded")
	o.open(2, toCEO)
	done := o.records("retry", 1)[0]
	if done.Target != transient || done.Via != decision.ViaAuto || done.Outcome != decision.Allowed || done.Reason == "" {
		t.Errorf("the record is %+v", done)
	}
	if e, err := o.store.Entry(t.Context(), transient); err != nil || e.Open() || e.Actor != autotriage.Actor {
		t.Errorf("the entry is %s by %q, %v", e.Status, e.Actor, err)
	}
	m := o.told(1)[0]
	var task struct {
		TaskID  string `json:"taskId"`
		Payload struct {
			Entry  string            `json:"entry_id"`
			Reason string            `json:"reason"`
			Why    string            `json:"why"`
			Plan   map[string]any    `json:"plan"`
			Links  map[string]string `json:"links"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(m.Data, &task); err != nil {
		t.Fatal(err)
	}
	p := task.Payload
	if m.Subject != "genbrain.agents.ceo.tasks.triage" || p.Entry != permanent || p.Reason != "authority_exceeded: said so" || !strings.Contains(p.Why, "permanent") ||
		p.Plan["eligible"] != false || p.Links["actions"] != "http://glass/api/v1/dlq/"+permanent+"/actions" {
		t.Errorf("told on %s: %s", m.Subject, m.Data)
	}
	o.records("escalate", 1)
}

func TestBudgetsOfAnHourAreKept(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.policy.Auto.PerHour, o.policy.Auto.PerAgent = 3, 2
	for range 4 {
		o.dies("cto", "code_review", dlqtriage.Transient, "network_transient")
	}
	for range 4 {
		o.dies("devops", "deployment", dlqtriage.Transient, "network_transient")
	}
	o.open(1, toCEO)
	o.told(5)
	perAgent := map[string]int{}
	for _, r := range o.records("retry", 3) {
		e, err := o.store.Entry(t.Context(), r.Target)
		if err != nil {
			t.Fatal(err)
		}
		perAgent[e.Agent]++
	}
	if perAgent["cto"] > 2 || perAgent["devops"] > 2 {
		t.Errorf("applied per agent: %v, want at most two", perAgent)
	}
}

// Where nobody is told of what is over the budget, it waits until there is budget again: a restart changes nothing about that.
func TestWhatIsOverTheBudgetWaitsForALaterHourWhereNobodyIsTold(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.policy.Auto.PerHour, o.policy.Auto.PerAgent = 5, 2
	for range 3 {
		o.dies("cto", "code_review", dlqtriage.Transient, "network_transient")
	}
	other := o.dies("devops", "deployment", dlqtriage.Transient, "network_transient")
	var later, turns atomic.Int64
	open := func() (end func()) {
		return o.open(1, func(cfg *autotriage.Config) {
			cfg.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
			cfg.Step = func(step string) {
				if step == "before claim" { // After each look at all entries.
					turns.Add(1)
				}
			}
		})
	}
	looks := func() {
		t.Helper()
		from := turns.Load()
		testkit.Eventually(t, patience, func() error {
			if n := turns.Load() - from; n < 3 {
				return fmt.Errorf("it looked %d times", n)
			}
			return nil
		})
	}
	end := open()
	looks()
	o.records("retry", 3)
	end()
	open()
	looks()
	if records := o.records("retry", 3); !slices.ContainsFunc(records, func(r decision.AuditRecord) bool { return r.Target == other }) {
		t.Errorf("applied %+v: want that of devops among them", records)
	}
	later.Store(int64(61 * time.Minute))
	looks()
	o.records("retry", 4)
}

func TestWhatSomebodyWasToldOfIsTheirsAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.policy.Auto.PerHour = 0
	told := o.dies("cto", "code_review", dlqtriage.Transient, "network_transient")
	restart := o.open(1, toCEO)
	o.told(1)
	restart()
	o.policy.Auto.PerHour = 60
	other := o.dies("cto", "code_review", dlqtriage.Transient, "network_transient")
	var turns atomic.Int64
	o.open(1, func(cfg *autotriage.Config) {
		toCEO(cfg)
		cfg.Step = func(step string) {
			if step == "before claim" { // After each look at all entries.
				turns.Add(1)
			}
		}
	})
	testkit.Eventually(t, patience, func() error {
		if n := turns.Load(); n < 3 {
			return fmt.Errorf("it looked %d times", n)
		}
		return nil
	})
	if r := o.records("retry", 1)[0]; r.Target != other {
		t.Errorf("it decided about %s, of which the CEO agent was told; want %s", r.Target, other)
	}
	if e, err := o.store.Entry(t.Context(), told); err != nil || !e.Open() {
		t.Errorf("what was told is %s, %v; want that it waits", e.Status, err)
	}
}

func TestNobodyIsToldOfAnEscalationThatDied(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.dies("ceo", "triage", dlqtriage.Transient, "network_transient")
	o.dies("ceo", "triage", dlqtriage.Permanent, "authority_exceeded")
	last := o.dies("cto", "code_review", dlqtriage.Permanent, "authority_exceeded")
	o.open(1, toCEO)
	if m := o.told(1)[0]; !strings.Contains(string(m.Data), `"entry_id":"`+last+`"`) {
		t.Errorf("told: %s", m.Data)
	}
	o.records("escalate", 1)
	o.records("retry", 0)
}

func TestWhatAPersonDecidedStaysAPersonsMatter(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	reopened := o.dies("cto", "code_review", dlqtriage.Transient, "network_transient")
	key, err := dlqtriage.ParseEntryID(reopened)
	if err != nil {
		t.Fatal(err)
	}
	e := lifecycle.Event{ID: 7, Kind: lifecycle.Reopened, Provenance: lifecycle.Recorded, At: lifecycle.MicrosOf(time.Now()), Message: key}
	e.Detail.Actor, e.Detail.Revision = "ann", 2
	if _, err := o.store.Append(t.Context(), lifecycle.Batch{Events: []lifecycle.Event{e}}); err != nil {
		t.Fatal(err)
	}
	other := o.dies("cto", "code_review", dlqtriage.Transient, "network_transient")
	o.open(1, toCEO)
	if r := o.records("retry", 1)[0]; r.Target != other {
		t.Errorf("it decided about %s, want %s", r.Target, other)
	}
	if e, err := o.store.Entry(t.Context(), reopened); err != nil || !e.Open() || e.Actor != "ann" {
		t.Errorf("the reopened entry is %s by %q, %v", e.Status, e.Actor, err)
	}
}

func TestTheWebhookIsToldUntilItTakesTheNotice(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	id := o.dies("cto", "code_review", dlqtriage.Permanent, "authority_exceeded")
	var mu sync.Mutex
	var ids, bodies []string
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		ids, bodies = append(ids, r.Header.Get("webhook-id")), append(bodies, string(body))
		if len(ids) == 1 || !strings.HasPrefix(r.Header.Get("webhook-signature"), "v1,") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(hook.Close)
	now := time.Now()
	o.open(1, func(cfg *autotriage.Config) {
		var err error
		cfg.Webhook, err = webhook.New(webhook.Config{URL: hook.URL, Secret: "a secret", HTTP: hook.Client()})
		if err != nil {
			t.Error(err)
		}
		cfg.Now = func() time.Time { // Every look is ten seconds later.
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(10 * time.Second)
			return now
		}
	})
	testkit.Eventually(t, patience, func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(ids) != 2 {
			return fmt.Errorf("posted %d times, want twice", len(ids))
		}
		return nil
	})
	o.records("escalate", 1)
	if ids[0] != ids[1] || !strings.Contains(bodies[1], `"entry_id":"`+id+`"`) {
		t.Errorf("posted as %v: %s", ids, bodies[1])
	}
	if bodies[0] != bodies[1] {
		t.Errorf("the second time it says something else:\n%s\n%s", bodies[0], bodies[1])
	}
}

// overtaken has another replica retry an entry just before it is examined.
type overtaken struct {
	autotriage.Actions
	once sync.Once
	err  error
}

// Examine implements [autotriage.Actions].
func (a *overtaken) Examine(ctx context.Context, id string) (dlqtriage.Known, dlqtriage.Plan, error) {
	a.once.Do(func() {
		_, a.err = a.Act(ctx, dlqtriage.Request{Entry: id, Action: dlqtriage.ActionRetry, Reason: "the policy allows it", Key: "other", Actor: decision.Actor{Name: autotriage.Actor, Via: decision.ViaAuto}})
	})
	return a.Actions.Examine(ctx, id)
}

func TestNobodyIsToldOfWhatAnotherReplicaHasJustRetried(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.dies("cto", "code_review", dlqtriage.Transient, "network_transient")
	var turns atomic.Int64
	o.open(1, func(cfg *autotriage.Config) {
		toCEO(cfg)
		cfg.Actions = &overtaken{Actions: cfg.Actions}
		cfg.Step = func(step string) {
			if step == "before claim" {
				turns.Add(1)
			}
		}
	})
	testkit.Eventually(t, patience, func() error {
		if n := turns.Load(); n < 3 {
			return fmt.Errorf("it looked %d times", n)
		}
		return nil
	})
	o.records("retry", 1)
	if records, _, err := o.store.Audit(t.Context(), decision.AuditFilter{Action: "escalate"}, nil, 10); err != nil || len(records) != 0 {
		t.Errorf("somebody was told of it: %+v, %v", records, err)
	}
}

// Behind a backlog of deaths what nobody has looked at waits, however long ago it died: to tell somebody that it has no class would be invented. Where
// nobody looks, nobody is waited for.
func TestWhatNobodyHasLookedAtIsNotToldWhileSomebodyLooks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	waits := o.dies("cto", "code_review", unread, "")
	read := o.dies("cto", "code_review", dlqtriage.Permanent, "authority_exceeded")
	var looks atomic.Bool
	looks.Store(true)
	var turns atomic.Int64
	o.open(1, func(cfg *autotriage.Config) {
		toCEO(cfg)
		cfg.Looks = looks.Load
		cfg.Now = func() time.Time { return time.Now().Add(time.Hour) } // Both died long ago.
		cfg.Step = func(step string) {
			if step == "before claim" { // After each look at all entries.
				turns.Add(1)
			}
		}
	})
	testkit.Eventually(t, patience, func() error {
		if n := turns.Load(); n < 2 {
			return fmt.Errorf("it looked %d times", n)
		}
		return nil
	})
	told, _, err := o.store.Audit(t.Context(), decision.AuditFilter{Action: "escalate"}, nil, 10)
	if err != nil || len(told) != 1 || told[0].Target != read {
		t.Errorf("while somebody looks, it told of %+v, %v; want of %s only", told, err, read)
	}
	looks.Store(false)
	if m := o.told(2)[1]; !strings.Contains(string(m.Data), `"entry_id":"`+waits+`"`) {
		t.Errorf("told, when nobody looked any more: %s", m.Data)
	}
}
