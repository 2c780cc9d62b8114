package alerts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fleetglass/alerts"
	"fleetglass/lifecycle"
)

// said is a finding as a row of "Needs attention" says it.
func said(f alerts.Finding) string {
	return fmt.Sprintf("%s | %s | %s -> %s", f.Harm, f.What, f.Do.Label, f.Do.Page)
}

func TestWhatHarmsMostIsFirst(t *testing.T) {
	t.Parallel()
	idle := func(agent string, pending uint64, since time.Duration) lifecycle.ConsumerState {
		return consumer(agent, func(c *lifecycle.ConsumerState) { c.Waiting, c.Pending, c.DeliveredAt = 0, pending, ago(since) })
	}
	paused := func(agent string, pending uint64) lifecycle.ConsumerState {
		return consumer(agent, func(c *lifecycle.ConsumerState) { c.Paused, c.Pending = true, pending })
	}
	legal := alerts.Untaken{Agent: "legal", Count: 2, Since: ago(time.Hour)}
	last := func(kind lifecycle.StaleKind, attempt int) lifecycle.Lease {
		l := lease(kind)
		l.Attempt = attempt
		return l
	}
	for name, c := range map[string]struct {
		facts func(*alerts.Facts)
		want  []string
	}{
		"a pile that nobody takes stands above two messages without a consumer": {
			func(f *alerts.Facts) {
				f.Untaken = []alerts.Untaken{legal}
				f.Consumers = []lifecycle.ConsumerState{paused("cto", 927)}
			},
			[]string{
				"untaken | 927 messages wait: consumer cto-task-worker is paused | Resume it -> /runbooks/consumer_paused",
				"untaken | 2 messages for legal: no consumer | List the tasks -> /tasks?agent=legal&anomaly=orphaned&sort=published&state=published",
			},
		},
		"30,135 messages beside eight idle agents stand above everything": {
			func(f *alerts.Facts) {
				f.Untaken = []alerts.Untaken{legal}
				f.Executed = []lifecycle.TaskSummary{task("twice", time.Hour)}
				for i := range 8 {
					f.Consumers = append(f.Consumers, idle(fmt.Sprint("agent", i), []uint64{3766, 3767}[min(i, 1)], 10*time.Minute))
				}
			},
			[]string{
				"standstill | Backlog while the agent is idle: 30,135 (agent1, agent2 and 6 more agents) | Open Agents -> /agents",
				"effect | twice ran again after it was complete | Open the task -> ",
				"untaken | 2 messages for legal: no consumer | List the tasks -> /tasks?agent=legal&anomaly=orphaned&sort=published&state=published",
			},
		},
		"the same pile is a standstill where only the tasks tell of it, while no worker holds any": {
			func(f *alerts.Facts) {
				f.OldestWaiting["cto"], f.Load = ago(time.Hour), map[string]alerts.Load{"cto": {Waiting: 30_135}}
				f.Untaken = []alerts.Untaken{legal}
			},
			[]string{
				"standstill | 30,135 tasks wait for cto, the oldest stored 1 h ago | List the tasks -> /tasks?agent=cto&sort=published&state=published",
				"untaken | 2 messages for legal: no consumer | List the tasks -> /tasks?agent=legal&anomaly=orphaned&sort=published&state=published",
			},
		},
		"what a worker is at only waits": {
			func(f *alerts.Facts) {
				f.OldestWaiting["cto"], f.Load = ago(time.Hour), map[string]alerts.Load{"cto": {Waiting: 30_135, Held: 1}}
				f.Untaken = []alerts.Untaken{legal}
			},
			[]string{
				"untaken | 2 messages for legal: no consumer | List the tasks -> /tasks?agent=legal&anomaly=orphaned&sort=published&state=published",
				"waiting | 30,135 tasks wait for cto, the oldest stored 1 h ago | List the tasks -> /tasks?agent=cto&sort=published&state=published",
			},
		},
		"a doubled effect, then what dies soon, then what nobody takes, then what waits, then what is a risk": {
			func(f *alerts.Facts) {
				f.Open = []alerts.OpenEntries{{Agent: "cto", Count: 900, Since: ago(24 * time.Hour)}}
				f.Untaken = []alerts.Untaken{legal}
				f.Leases = []lifecycle.Lease{last(lifecycle.StaleLease, 1), last(lifecycle.StaleLease, 3)}
				f.Executed = []lifecycle.TaskSummary{task("twice", time.Minute)}
				f.Traps = []alerts.Trap{{Code: "dlq_expires", Severity: alerts.Critical, Title: "Dead letters expire", On: []string{"stream DLQ"}}}
			},
			[]string{
				"effect | twice ran again after it was complete | Open the task -> ",
				"dying | t1 is stale | Decide -> /in-flight/TASKS:7",
				"untaken | 2 messages for legal: no consumer | List the tasks -> /tasks?agent=legal&anomaly=orphaned&sort=published&state=published",
				"waiting | 900 dead letters of cto wait for a decision | Triage -> /dlq?status=open&agent=cto",
				"waiting | t1 is stale | Decide -> /in-flight/TASKS:7",
				"risk | Dead letters expire: stream DLQ | See the fix -> /doctor#dlq_expires",
			},
		},
		"where nobody watches is first": {
			func(f *alerts.Facts) {
				f.Untaken = []alerts.Untaken{legal}
				f.Traps = []alerts.Trap{
					{Code: "dlq_expires", Severity: alerts.Critical, Title: "Dead letters expire", On: []string{"stream DLQ"}},
					{Code: "capture_missing", Severity: alerts.Critical, Title: "A capture stream is missing", On: []string{"stream OBS_ACK"}},
				}
			},
			[]string{
				"blind | A capture stream is missing: stream OBS_ACK | See the fix -> /doctor#capture_missing",
				"untaken | 2 messages for legal: no consumer | List the tasks -> /tasks?agent=legal&anomaly=orphaned&sort=published&state=published",
				"risk | Dead letters expire: stream DLQ | See the fix -> /doctor#dlq_expires",
			},
		},
		"within one harm messages times time decide": {
			func(f *alerts.Facts) {
				f.Untaken = []alerts.Untaken{{Agent: "few", Count: 3, Since: ago(time.Hour)}, {Agent: "many", Count: 10, Since: ago(10 * time.Minute)}}
			},
			[]string{
				"untaken | 3 messages for few: no consumer | List the tasks -> /tasks?agent=few&anomaly=orphaned&sort=published&state=published",
				"untaken | 10 messages for many: no consumer | List the tasks -> /tasks?agent=many&anomaly=orphaned&sort=published&state=published",
			},
		},
		"a lease that is about to expire asks nothing of anybody, whatever attempt it is": {
			func(f *alerts.Facts) {
				f.Leases = []lifecycle.Lease{last(lifecycle.StaleExpiring, 1), last(lifecycle.StaleExpiring, 3), last(lifecycle.StalePresumedDead, 3)}
			},
			[]string{"dying | t1 is presumed dead | Decide -> /in-flight/TASKS:7"},
		},
		"that tasks wait is not said twice": {
			func(f *alerts.Facts) {
				f.OldestWaiting["cto"] = ago(time.Hour)
				f.Consumers = []lifecycle.ConsumerState{paused("cto", 2)}
			},
			[]string{"untaken | 2 messages wait: consumer cto-task-worker is paused | Resume it -> /runbooks/consumer_paused"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range alerts.Attention(find(c.facts), ago(0)) {
				got = append(got, said(f))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestEveryRuleHasItsHarmAndAnActionForOneAndForMany(t *testing.T) {
	t.Parallel()
	for _, rule := range alerts.Defaults() {
		one := find(triggers[rule.ID].bad)[0]
		if !slices.Contains(alerts.Harms(), one.Harm) || one.Do.Label == "" || (one.Do.Page == "" && one.TaskID == "") {
			t.Errorf("%s: one finding says %q and %+v", rule.ID, one.Harm, one.Do)
		}
		var five []alerts.Finding
		for i := range 5 {
			f := one
			f.Key, f.Severity = fmt.Sprint(i), alerts.Warning // What is only good to know has no row.
			five = append(five, f)
		}
		many := alerts.Attention(five, ago(0))
		if len(many) != 1 || many[0].Count != 5*one.Count || many[0].Harm != one.Harm || many[0].Do.Label == "" || many[0].Do.Page == "" {
			t.Errorf("%s: five findings are %+v", rule.ID, many)
		}
	}
}

func TestTheBoardStandsInOrderOfHarm(t *testing.T) {
	t.Parallel()
	m := &memory{}
	found := find(func(f *alerts.Facts) {
		f.Untaken = []alerts.Untaken{{Agent: "legal", Count: 2, Since: ago(time.Hour)}}
		f.Open = []alerts.OpenEntries{{Agent: "cto", Count: 900, Since: ago(24 * time.Hour)}}
		f.Consumers = []lifecycle.ConsumerState{consumer("cto", func(c *lifecycle.ConsumerState) { c.Waiting, c.Pending = 0, 30_135 })}
		f.Executed = []lifecycle.TaskSummary{task("twice", time.Minute)}
		last := lease(lifecycle.StaleExpiring) // Of its last attempt: nothing is harmed yet.
		last.Attempt = last.MaxDeliver
		f.Leases = []lifecycle.Lease{last}
	})
	slices.Reverse(found)
	m.at(t, ago(0), found...)
	var got []alerts.Harm
	for _, s := range m.board.Standings(ago(0)) {
		got = append(got, s.Harm)
	}
	if want := []alerts.Harm{alerts.HarmStandstill, alerts.HarmEffect, alerts.HarmUntaken, alerts.HarmWaiting, alerts.HarmRisk}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
