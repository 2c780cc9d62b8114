package doctor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/fleet/doctor"
	"fleetglass/internal/testkit"
)

// configured is a broker of its own configuration with every stream. The embedded one has no limit of consumers.
func configured(t *testing.T, lines string) broker {
	t.Helper()
	srv := testkit.ConfiguredBroker(t, fmt.Sprintf("jetstream { store_dir: %q }\n%s", t.TempDir(), lines))
	b := broker{t, connected(t, srv.ClientURL())}
	b.provision(rightly)
	return b
}

// A broker tells its own limit to nobody: it is not in the configuration of the stream, nor in the limits of the account.
func TestTheServersOwnLimitOfConsumers(t *testing.T) {
	t.Parallel()
	b := configured(t, "")
	b.workers(899)
	if got := b.examine(); len(got) > 0 {
		t.Errorf("899 consumers: %q", got)
	}
	b.worker("next", func(*jetstream.ConsumerConfig) {})
	if got := b.examine(); !slices.Equal(got, []string{"consumers_nearly_full: stream TASKS"}) {
		t.Errorf("900 consumers: %q", got)
	}
	for i := range 100 {
		b.worker(fmt.Sprintf("last-%d", i), func(*jetstream.ConsumerConfig) {})
	}
	b.refused("one-too-many")
	look, err := doctor.Read(t.Context(), b.js, contract)
	b.must(err)
	findings := doctor.Rules{Contract: contract}.Examine(look)
	tasks := look.Streams[slices.IndexFunc(look.Streams, func(s doctor.Stream) bool { return s.Config.Name == fleet.StreamTasks })]
	if tasks.Config.MaxConsumers > 0 || look.MaxConsumers > 0 {
		t.Errorf("the broker tells a limit: %d of the stream, %d of the account", tasks.Config.MaxConsumers, look.MaxConsumers)
	}
	if !slices.Equal(codes(findings), []string{"consumers_full: stream TASKS"}) || findings[0].Fix != "nats stream edit TASKS --max-consumers 10000" {
		t.Errorf("1,000 consumers: %+v", findings)
	}
	if got := codes(doctor.Rules{Contract: contract, Consumers: -1}.Examine(look)); len(got) > 0 {
		t.Errorf("1,000 consumers where it is known that there is no limit: %q", got)
	}
	if got := codes(doctor.Rules{Contract: contract, Consumers: 999}.Examine(look)); len(got) > 0 {
		t.Errorf("more consumers than the limit that was supposed, so it is another: %q", got)
	}
	b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.MaxConsumers = 10_000 })
	b.worker("one-more", func(*jetstream.ConsumerConfig) {})
	if got := b.examine(); len(got) > 0 {
		t.Errorf("after the fix: %q", got)
	}
}

// A server before 2.15 has no limit of its own, and of one whose version is not known nobody can say so. What stream and account say counts always.
func TestOnlyAServerThatHasALimitOfConsumersIsSaidToHaveOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version  string
		own      int
		findings []string
	}{
		{"2.15.2", 0, []string{"consumers_full: stream TASKS"}},
		{"2.15.0-RC.3", 0, []string{"consumers_full: stream TASKS"}},
		{"3.0.1", 0, []string{"consumers_full: stream TASKS"}},
		{"2.14.9", 0, nil},
		{"2.9.25", 0, nil},
		{"", 0, nil},
		{"2.14.9", 1000, []string{"consumers_full: stream TASKS"}},
	} {
		look := doctor.Cluster{Version: c.version}
		for _, cfg := range rightly.Configs() {
			s := doctor.Stream{Config: cfg, Servers: 1}
			if cfg.Name == fleet.StreamTasks {
				s.Config.MaxConsumers = c.own
				for n := range 1000 {
					worker := contract.Worker(fmt.Sprintf("agent-%d", n), patient)
					s.Consumers = append(s.Consumers, doctor.Consumer{Name: worker.Durable, Config: worker})
				}
			}
			look.Streams = append(look.Streams, s)
		}
		if got := codes(doctor.Rules{Contract: contract}.Examine(look)); !slices.Equal(got, c.findings) {
			t.Errorf("nats-server %q with max_consumers %d: %q, want %q", c.version, c.own, got, c.findings)
		}
	}
}

// A stream that keeps what was done is full of it, and loses nothing.
func TestDoneTasksAreNoneThatALimitDrops(t *testing.T) {
	t.Parallel()
	b := rightBroker(t)
	b.anew(fleet.StreamTasks, func(c *jetstream.StreamConfig) {
		c.Retention, c.MaxMsgs, c.MaxMsgsPerSubject = jetstream.LimitsPolicy, 5, 5
	})
	b.worker("cto", func(c *jetstream.ConsumerConfig) { c.MaxAckPending = 5 })
	b.publish("cto", 5)
	testkit.Eventually(t, 10*time.Second, func() error { // The broker counts what waits for a consumer a little after it stored it.
		if got := b.examine(); !slices.Equal(got, []string{"limit_drops_tasks: stream TASKS"}) {
			return fmt.Errorf("five of five wait: %q", got)
		}
		return nil
	})
	worker, err := b.js.Consumer(t.Context(), fleet.StreamTasks, fleet.WorkerName("cto"))
	b.must(err)
	for range 5 {
		m, err := worker.Next()
		b.must(err)
		b.must(m.DoubleAck(t.Context()))
	}
	if got := b.examine(); len(got) > 0 {
		t.Errorf("five of five are done: %q", got)
	}
}

func TestTheAccountsLimitOfConsumers(t *testing.T) {
	t.Parallel()
	b := configured(t, "accounts { A { jetstream: { max_consumers: 10 }, users: [ { user: a, password: a } ] } }\nno_auth_user: a")
	b.workers(9)
	look, err := doctor.Read(t.Context(), b.js, contract)
	b.must(err)
	got := doctor.Rules{Contract: contract}.Examine(look)
	if !slices.Equal(codes(got), []string{"consumers_nearly_full: stream TASKS"}) || got[0].What != "It has 9 consumers. Its account allows a stream 10." {
		t.Errorf("nine of ten: %+v", got)
	}
	b.worker("next", func(*jetstream.ConsumerConfig) {})
	b.refused("one-too-many")
	if got := b.examine(); !slices.Equal(got, []string{"consumers_full: stream TASKS"}) {
		t.Errorf("ten of ten: %q", got)
	}
}

// What a stream holds is dated by the broker: hours cannot pass in a test.
func TestHowLongACaptureStreamHolds(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	now := time.Now()
	for _, c := range []struct {
		name  string
		age   time.Duration
		bytes uint64
		what  string // Empty: no finding.
		fix   string
	}{
		{"full within 37 minutes", 37 * time.Minute, 256 * mib, "It got 100 % of its max_bytes of 268,435,456 within 37 m: at that rate it holds 37 m.", "nats stream edit OBS_ACK --max-bytes 1073741824 --no-ack"},
		{"a third in a third of 37 minutes", 37 * time.Minute / 3, 256 * mib / 3, "It got 33 % of its max_bytes of 268,435,456 within 12 m: at that rate it holds 37 m.", "nats stream edit OBS_ACK --max-bytes 1073741824 --no-ack"},
		{"full within an hour", time.Hour, 256 * mib, "", ""},
		{"young, and not full", 9 * time.Minute, 100 * mib, "", ""},
		{"young and full", 40 * time.Second, 256 * mib, "It got 100 % of its max_bytes of 268,435,456 within 40 s: at that rate it holds 40 s.", "nats stream edit OBS_ACK --max-bytes 4294967296 --no-ack"},
		{"nearly empty", 20 * time.Minute, mib, "", ""},
		{"empty", 0, 0, "", ""},
	} {
		look := doctor.Cluster{}
		for _, cfg := range rightly.Configs() {
			s := doctor.Stream{At: now, Config: cfg, Servers: 1}
			if cfg.Name == fleet.CaptureAck {
				s.State = jetstream.StreamState{Bytes: c.bytes, Msgs: c.bytes / 100, FirstTime: now.Add(-c.age)}
			}
			look.Streams = append(look.Streams, s)
		}
		var what, fix []string
		for _, f := range (doctor.Rules{Contract: contract}).Examine(look) {
			what, fix = append(what, f.What), append(fix, f.Fix)
		}
		if strings.Join(what, "; ") != c.what || strings.Join(fix, "; ") != c.fix {
			t.Errorf("%s: %q, fix %q, want %q, %q", c.name, what, fix, c.what, c.fix)
		}
	}
}

// The nats command turns answers on in every stream that it edits, unless it is told not to. A capture of acknowledgements that answers is refused.
func TestACommandLeavesACaptureStreamSilent(t *testing.T) {
	t.Parallel()
	var look doctor.Cluster
	for _, cfg := range (fleet.Streams{Contract: contract, RecordRetention: 9 * 24 * time.Hour, Replicas: 3}).Configs() {
		if cfg.NoAck {
			cfg.Replicas, cfg.MaxBytes, cfg.MaxAge = 1, -1, time.Minute
		}
		look.Streams = append(look.Streams, doctor.Stream{Config: cfg, Servers: 3})
	}
	seen := map[string]int{}
	for _, f := range (doctor.Rules{Contract: contract}).Examine(look) {
		seen[f.Code]++
		if !strings.HasPrefix(f.Fix, "nats stream edit OBS_") || !strings.HasSuffix(f.Fix, " --no-ack") {
			t.Errorf("%s: %s", f.Code, f.Fix)
		}
	}
	for _, code := range []string{"capture_unbounded", "capture_replicas", "capture_short"} {
		if seen[code] == 0 {
			t.Errorf("%s was not found: %v", code, seen)
		}
	}
}
