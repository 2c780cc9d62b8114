package alerts_test

import (
	"strings"
	"testing"
	"time"

	"fleetglass/alerts"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// ago is a time before noon.
func ago(d time.Duration) lifecycle.Micros { return lifecycle.MicrosOf(noon.Add(-d)) }

// find returns the findings about a quiet fleet in which something is changed.
func find(change func(*alerts.Facts)) []alerts.Finding {
	f := alerts.Facts{
		AsOf: ago(0), EntriesKnown: true, OldestWaiting: map[string]lifecycle.Micros{}, Published: map[string]int64{},
		States: map[lifecycle.State]int64{}, Oldest: map[lifecycle.State]lifecycle.Micros{},
		AgentOf: func(consumer string) string { return strings.TrimSuffix(consumer, "-task-worker") },
		Parts:   []health.Part{{Name: "acks", Kind: "collector", State: health.OK, LastAt: noon}},
	}
	change(&f)
	return alerts.Find(&f, alerts.Defaults())
}

func consumer(name string, change func(*lifecycle.ConsumerState)) lifecycle.ConsumerState {
	c := lifecycle.ConsumerState{
		Stream: lifecycle.StreamID{Name: "TASKS"}, Name: name + "-task-worker", CreatedAt: ago(time.Hour), ObservedAt: ago(0), DeliveredAt: ago(10 * time.Minute), Pending: 2,
		Filters: []string{"genbrain.agents." + name + ".tasks.>"}, Waiting: 1,
	}
	change(&c)
	return c
}

func task(id string, last time.Duration) lifecycle.TaskSummary {
	return lifecycle.TaskSummary{TaskID: id, Agent: "cto", LastEventAt: ago(last)}
}

// lease is a lease with something wrong.
func lease(kind lifecycle.StaleKind) lifecycle.Lease {
	return lifecycle.Lease{
		TaskID: "t1", Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 7}, Agent: "cto", Attempt: 3, MaxDeliver: 3, Deadline: ago(time.Minute), Stale: kind,
	}
}

// incident is many dead letters of one cause.
func incident(change func(*alerts.Deaths)) alerts.Deaths {
	d := alerts.Deaths{
		Cause: "llm_provider_timeout", Category: "transient", Agents: []string{"cto"}, Recent: 16, Ended: 20, Usual: -1,
		Wave: alerts.Wave{Since: ago(40 * time.Minute), Count: 16, Open: 11, Page: "/dlq?detail=llm_provider_timeout"},
	}
	change(&d)
	return d
}

// triggers has, for each rule, what makes it find exactly one thing, and the same fleet a little better, in which it finds nothing.
var triggers = map[alerts.RuleID]struct{ bad, good func(*alerts.Facts) }{
	alerts.RuleOrphaned: {
		bad: func(f *alerts.Facts) {
			f.Untaken = []alerts.Untaken{{Agent: "legal", Count: 3, Since: ago(time.Minute)}}
		},
		good: func(*alerts.Facts) {},
	},
	alerts.RuleBacklogIdle: {
		bad: func(f *alerts.Facts) {
			f.Consumers = append(f.Consumers, consumer("cto", func(c *lifecycle.ConsumerState) { c.Waiting = 0 }))
		},
		good: func(f *alerts.Facts) {
			f.Consumers = append(f.Consumers, consumer("cto", func(*lifecycle.ConsumerState) {}))
		},
	},
	alerts.RuleConsumerGone: {
		bad: func(f *alerts.Facts) {
			f.Consumers = append(f.Consumers, consumer("cto", func(c *lifecycle.ConsumerState) { c.Gone = true }))
			f.Load = map[string]alerts.Load{"cto": {Waiting: 2}}
		},
		good: func(f *alerts.Facts) { // What waited for it when it was seen last was moved to the DLQ, or removed.
			f.Consumers = append(f.Consumers, consumer("cto", func(c *lifecycle.ConsumerState) { c.Gone = true }))
		},
	},
	alerts.RulePaused: {
		bad: func(f *alerts.Facts) {
			f.Consumers = append(f.Consumers, consumer("cto", func(c *lifecycle.ConsumerState) { c.Paused = true }))
		},
		good: func(f *alerts.Facts) {
			f.Consumers = append(f.Consumers, consumer("cto", func(c *lifecycle.ConsumerState) { c.Paused, c.Pending = true, 0 }))
		},
	},
	alerts.RuleNoConsumer: {
		bad: func(f *alerts.Facts) {
			f.Published["legal"] = 1
			f.Consumers = append(f.Consumers, consumer("cto", func(*lifecycle.ConsumerState) {}))
		},
		good: func(f *alerts.Facts) {
			f.Published["legal"] = 1
			f.Consumers = append(f.Consumers, consumer("odd", func(c *lifecycle.ConsumerState) { c.Filters = []string{"genbrain.agents.*.tasks.>"} }))
		},
	},
	alerts.RuleNotInDLQ: {
		bad: func(f *alerts.Facts) {
			f.States[lifecycle.StateExhausted], f.Oldest[lifecycle.StateExhausted] = 2, ago(11*time.Second)
		},
		good: func(f *alerts.Facts) { // A monitor copies one of them just now.
			f.States[lifecycle.StateDeadLettered], f.States[lifecycle.StateExhausted], f.Oldest[lifecycle.StateExhausted] = 2, 1, ago(9*time.Second)
		},
	},
	alerts.RuleTrapCritical: trapTrigger(alerts.Critical, alerts.Warning),
	alerts.RuleTrapWarning:  trapTrigger(alerts.Warning, alerts.Critical),
	alerts.RuleUnknown: {
		bad:  func(f *alerts.Facts) { f.States[lifecycle.StateOutcomeUnknown] = 2 },
		good: func(*alerts.Facts) {},
	},
	alerts.RuleExecutedTwice: tasksTrigger(func(f *alerts.Facts, t lifecycle.TaskSummary) { f.Executed = append(f.Executed, t) }),
	alerts.RuleKeyConflict:   tasksTrigger(func(f *alerts.Facts, t lifecycle.TaskSummary) { f.Conflicts = append(f.Conflicts, t) }),
	alerts.RuleForged:        tasksTrigger(func(f *alerts.Facts, t lifecycle.TaskSummary) { f.Forged = append(f.Forged, t) }),
	alerts.RuleRemoved: tasksTrigger(func(f *alerts.Facts, t lifecycle.TaskSummary) {
		t.Reason = "removed " + lifecycle.RemovedByLimit.Words()
		f.Removed = append(f.Removed, t)
	}),
	alerts.RulePresumedDead: leaseTrigger(lifecycle.StalePresumedDead),
	alerts.RuleStale:        leaseTrigger(lifecycle.StaleLease),
	alerts.RuleZombie:       leaseTrigger(lifecycle.StaleZombie),
	alerts.RuleStuck:        leaseTrigger(lifecycle.StaleStuck),
	alerts.RuleWeakAccept:   leaseTrigger(lifecycle.StaleWeakAccept),
	alerts.RuleExpiring:     leaseTrigger(lifecycle.StaleExpiring),
	alerts.RuleQueueAge: {
		bad:  func(f *alerts.Facts) { f.OldestWaiting["cto"] = ago(16 * time.Minute) },
		good: func(f *alerts.Facts) { f.OldestWaiting["cto"] = ago(14 * time.Minute) },
	},
	alerts.RuleBacklogGrows: {
		bad: func(f *alerts.Facts) {
			f.Consumers = append(f.Consumers, consumer("cto", func(c *lifecycle.ConsumerState) { c.Pending = 2000 }))
			f.Flow = map[string]alerts.Flow{"cto": {Grew: 1500, Ended: 300}}
		},
		good: func(f *alerts.Facts) {
			f.Flow = map[string]alerts.Flow{"shrinks": {Grew: -20, Ended: 50}, "quick": {Grew: 1500, Ended: 1500}, "cto": {Grew: 3}}
			for _, agent := range []string{"shrinks", "quick"} {
				f.Consumers = append(f.Consumers, consumer(agent, func(c *lifecycle.ConsumerState) { c.Pending = 2000 }))
			}
			f.Consumers = append(f.Consumers, consumer("cto", func(c *lifecycle.ConsumerState) { c.Pending = 3 })) // A few behind one long task are no backlog.
		},
	},
	alerts.RuleDiscrepancy: {
		bad: func(f *alerts.Facts) {
			f.Reconciled = &reconcile.Run{Report: &reconcile.Report{Lists: []reconcile.DiscrepancyList{{Kind: reconcile.AckedNotRecorded, Total: 4}}}}
		},
		good: func(f *alerts.Facts) { f.Reconciled = &reconcile.Run{Report: &reconcile.Report{}} },
	},
	alerts.RuleIncident: {
		bad: func(f *alerts.Facts) { f.Deaths = []alerts.Deaths{incident(func(*alerts.Deaths) {})} },
		good: func(f *alerts.Facts) {
			f.Deaths = []alerts.Deaths{
				incident(func(d *alerts.Deaths) { d.Recent = 9 }),
				incident(func(d *alerts.Deaths) { d.Ended = 65 }), // Most messages of these agents are well.
				incident(func(d *alerts.Deaths) { d.Usual = 4.1 }),
			}
		},
	},
	alerts.RuleDLQUntouched: {
		bad:  func(f *alerts.Facts) { f.Open = []alerts.OpenEntries{{Agent: "cto", Count: 2, Since: ago(time.Hour)}} },
		good: func(*alerts.Facts) {},
	},
	alerts.RulePartDown: {
		bad: func(f *alerts.Facts) {
			f.Parts = append(f.Parts, health.Part{Name: "store", Kind: "store", State: health.Down})
		},
		good: func(f *alerts.Facts) {
			f.Parts = append(f.Parts, health.Part{Name: "firestore", State: health.NotConfigured})
		},
	},
	alerts.RuleUnjudged: {
		bad: func(f *alerts.Facts) {
			f.Parts = append(f.Parts, health.Part{Name: "brokersync", Kind: "collector", State: health.BestEffort, Unjudged: "nobody is named as a worker"})
		},
		good: func(f *alerts.Facts) {
			f.Parts = append(f.Parts, health.Part{Name: "attempts", Kind: "collector", State: health.BestEffort, Detail: "attempts are only heard"})
		},
	},
	alerts.RuleFeedSilent: {
		bad:  func(f *alerts.Facts) { f.Parts[0].LastAt = noon.Add(-3 * time.Minute) },
		good: func(f *alerts.Facts) { f.Parts[0].LastAt = noon.Add(-time.Minute) },
	},
	alerts.RuleCollectorLag: {
		bad: func(f *alerts.Facts) { f.Parts[0].State = health.Behind },
		good: func(f *alerts.Facts) {
			f.Parts = append(f.Parts, health.Part{Name: "policy", Kind: "triage", State: health.Behind})
		},
	},
	alerts.RuleCaptureGap: {
		bad: func(f *alerts.Facts) {
			f.Gaps = []lifecycle.Gap{{Source: "OBS_ACK", From: ago(2 * time.Hour), To: ago(time.Minute)}}
		},
		good: func(f *alerts.Facts) {
			f.Gaps = []lifecycle.Gap{{Source: "OBS_ACK", From: ago(3 * time.Hour), To: ago(2 * time.Hour)}}
		},
	},
}

// trapTrigger is a trap of that severity, beside one of another and one of which another rule tells.
func trapTrigger(severity, other alerts.Severity) trigger {
	trap := func(code string, s alerts.Severity) alerts.Trap {
		return alerts.Trap{Code: code, Severity: s, Title: "Dead letters expire", Why: "They are deleted.", Fix: "nats stream edit DLQ", On: []string{"stream DLQ"}}
	}
	return trigger{
		bad: func(f *alerts.Facts) { f.Traps = []alerts.Trap{trap("dlq_expires", severity)} },
		good: func(f *alerts.Facts) {
			f.Traps = []alerts.Trap{trap("headers_only", alerts.Info), trap("nobody_takes", severity), trap("consumer_paused", other)}
		},
	}
}

type trigger = struct{ bad, good func(*alerts.Facts) }

func tasksTrigger(add func(*alerts.Facts, lifecycle.TaskSummary)) trigger {
	return trigger{func(f *alerts.Facts) { add(f, task("t1", time.Hour)) }, func(f *alerts.Facts) { add(f, task("t1", 25*time.Hour)) }}
}

// TestAMessageHasOneAlertHoweverManyAttemptsGoWrong has the second attempt lapse as the first one did.
func TestAMessageHasOneAlertHoweverManyAttemptsGoWrong(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for attempt := range 2 {
		l := lease(lifecycle.StaleLease)
		l.Attempt = attempt + 1
		keys[find(func(f *alerts.Facts) { f.Leases = append(f.Leases, l) })[0].Key] = true
	}
	if len(keys) != 1 {
		t.Errorf("two attempts have the keys %v", keys)
	}
}

func leaseTrigger(kind lifecycle.StaleKind) trigger {
	return trigger{func(f *alerts.Facts) { f.Leases = append(f.Leases, lease(kind)) }, func(f *alerts.Facts) { f.Leases = append(f.Leases, lease("")) }}
}

func TestEveryRuleFindsWhatItIsForAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, rule := range alerts.Defaults() {
		t.Run(string(rule.ID), func(t *testing.T) {
			t.Parallel()
			trigger, known := triggers[rule.ID]
			if !known {
				t.Fatal("no facts trigger the rule in this test")
			}
			got := find(trigger.bad)
			if len(got) != 1 || got[0].Rule != rule.ID {
				t.Fatalf("found %+v, want one finding of the rule", got)
			}
			f := got[0]
			if f.What == "" || f.Why == "" || f.Next == "" || f.Severity != rule.Severity || f.Count < 1 || (f.TaskID == "" && f.Page == "") {
				t.Errorf("the finding lacks something: %+v", f)
			}
			if rest := find(trigger.good); len(rest) != 0 {
				t.Errorf("found %+v in a fleet that is well", rest)
			}
		})
	}
}

func TestNobodySaysThatMessagesAreNotInTheQueueWhileItWasNotRead(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		f := find(func(f *alerts.Facts) { f.States[lifecycle.StateExhausted], f.EntriesKnown = 2, known })[0]
		if said := strings.Contains(f.What, "not in the DLQ"); said != known {
			t.Errorf("the queue was read: %v, and it says %q, %q", known, f.What, f.Why)
		}
	}
}

func TestARuleHasABoundedNumberOfFindingsTheSameFromLookToLook(t *testing.T) {
	t.Parallel()
	many := func(n int) []alerts.Finding {
		return find(func(f *alerts.Facts) {
			for i := range n {
				l := lease(lifecycle.StaleLease)
				l.Message.Seq, l.Deadline = uint64(i+1), ago(time.Duration(n-i)*time.Second)
				f.Leases = append(f.Leases, l)
			}
		})
	}
	few, more := many(alerts.MaxFindings), many(alerts.MaxFindings+5)
	if len(few) != alerts.MaxFindings || len(more) != alerts.MaxFindings+1 {
		t.Fatalf("%d and %d findings", len(few), len(more))
	}
	if last := more[alerts.MaxFindings]; last.Count != 5 || last.Key != "more" || more[0].Key != few[0].Key {
		t.Errorf("the last is %+v, the first %q and %q", last, more[0].Key, few[0].Key)
	}
}

func TestARuleThatIsOffFindsNothing(t *testing.T) {
	t.Parallel()
	rules := alerts.Defaults()
	f := alerts.Facts{States: map[lifecycle.State]int64{lifecycle.StateOutcomeUnknown: 1}, Parts: nil}
	for i := range rules {
		rules[i].Off = rules[i].ID == alerts.RuleUnknown
	}
	if got := alerts.Find(&f, rules); len(got) != 0 {
		t.Errorf("found %+v", got)
	}
}

// A consumer to which the broker sends has no requests that wait.
func TestWorkersThatAreSentToNeedNotAsk(t *testing.T) {
	t.Parallel()
	for bound, want := range map[bool]string{true: "", false: "2 messages wait for cto: no worker is subscribed"} {
		var got string
		for _, x := range find(func(f *alerts.Facts) {
			f.Consumers = append(f.Consumers, consumer("cto", func(c *lifecycle.ConsumerState) { c.Waiting, c.Push, c.Bound = 0, true, bound }))
		}) {
			if x.Rule == alerts.RuleBacklogIdle {
				got = x.What
			}
		}
		if got != want {
			t.Errorf("a worker is subscribed: %v; found %q, want %q", bound, got, want)
		}
	}
}

// A broker that restarts forgets when it delivered last. Messages wait no longer than the oldest of them.
func TestWorkWaitsSinceTheOldestMessageThatWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ delivered, oldest, want lifecycle.Micros }{
		"the oldest came after the last delivery": {ago(10 * time.Minute), ago(2 * time.Minute), ago(2 * time.Minute)},
		"the last delivery came after the oldest": {ago(10 * time.Minute), ago(30 * time.Minute), ago(10 * time.Minute)},
		"the last delivery is not known":          {0, ago(20 * time.Minute), ago(20 * time.Minute)},
		"neither is known":                        {0, 0, ago(time.Hour)},
		"the oldest came just now":                {ago(10 * time.Minute), ago(time.Second), 0},
	} {
		found := find(func(f *alerts.Facts) {
			f.OldestWaiting["cto"] = tt.oldest
			f.Consumers = append(f.Consumers, consumer("cto", func(c *lifecycle.ConsumerState) { c.Waiting, c.DeliveredAt = 0, tt.delivered }))
		})
		var got lifecycle.Micros
		for _, x := range found {
			if x.Rule == alerts.RuleBacklogIdle {
				got = x.Since
			}
		}
		if got != tt.want {
			t.Errorf("%s: since %s, want %s", name, got.Time(), tt.want.Time())
		}
	}
}

func TestATitleIsQuotedAndAnIDIsNot(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{"": "T-1 is expiring", "Find the cause of a shift": "“Find the cause of a shift” is expiring"} {
		found := find(func(f *alerts.Facts) {
			f.Leases = append(f.Leases, lifecycle.Lease{TaskID: "T-1", Title: title, Stale: lifecycle.StaleExpiring})
		})
		if len(found) != 1 || found[0].What != want {
			t.Errorf("titled %q: found %+v, want %q", title, found, want)
		}
	}
}

// What waited for a consumer when it was seen last may be gone by now, and a worker may have had more in hand.
func TestAGoneConsumerIsToldOfWhatStillWaitsForIt(t *testing.T) {
	t.Parallel()
	gone := func(pending uint64, inHand int, filters ...string) lifecycle.ConsumerState {
		return consumer("cto", func(c *lifecycle.ConsumerState) {
			c.Gone, c.Pending, c.AckPending = true, pending, inHand
			if len(filters) > 0 {
				c.Filters = filters
			}
		})
	}
	held := lifecycle.Lease{TaskID: "t1", Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 7}, Agent: "cto", Consumer: "cto-task-worker"}
	reviews := consumer("reviewers", func(c *lifecycle.ConsumerState) { c.Filters = []string{"genbrain.agents.cto.tasks.review"} })
	for name, tt := range map[string]struct {
		facts func(*alerts.Facts)
		want  string
	}{
		"all still wait": {func(f *alerts.Facts) {
			f.Consumers, f.Load = []lifecycle.ConsumerState{gone(2, 0)}, map[string]alerts.Load{"cto": {Waiting: 2}}
		}, "2 messages wait for it."},
		"more came": {func(f *alerts.Facts) {
			f.Consumers, f.Load = []lifecycle.ConsumerState{gone(2, 0)}, map[string]alerts.Load{"cto": {Waiting: 5}, "ceo": {Waiting: 9}}
		}, "5 messages wait for it."},
		"none waits any more": {func(f *alerts.Facts) {
			f.Consumers = []lifecycle.ConsumerState{gone(2, 0)}
		}, ""},
		"nothing waited when it went": {func(f *alerts.Facts) {
			f.Consumers, f.Load = []lifecycle.ConsumerState{gone(0, 0)}, map[string]alerts.Load{"cto": {Waiting: 2}}
		}, ""},
		"its worker had one in hand": {func(f *alerts.Facts) {
			f.Consumers, f.Leases = []lifecycle.ConsumerState{gone(0, 1)}, []lifecycle.Lease{held}
		}, "1 message waits for it."},
		"its worker had one in hand, about which somebody decided": {func(f *alerts.Facts) {
			decided := held
			decided.Resolved = &lifecycle.TriageFacts{}
			f.Consumers, f.Leases = []lifecycle.ConsumerState{gone(0, 1)}, []lifecycle.Lease{decided}
		}, ""},
		"another consumer takes all of the agent": {func(f *alerts.Facts) {
			other := consumer("pool", func(c *lifecycle.ConsumerState) { c.Filters = []string{"genbrain.agents.*.tasks.>"} })
			f.Consumers, f.Load, f.Leases = []lifecycle.ConsumerState{gone(2, 1), other}, map[string]alerts.Load{"cto": {Waiting: 2}}, []lifecycle.Lease{held}
		}, ""},
		"another one takes some of the agent": {func(f *alerts.Facts) {
			f.Consumers, f.Load = []lifecycle.ConsumerState{gone(2, 0), reviews}, map[string]alerts.Load{"cto": {Waiting: 7}}
			f.Untaken = []alerts.Untaken{{Agent: "cto", Count: 3}}
		}, "3 messages wait for it."},
		"it took several agents": {func(f *alerts.Facts) {
			f.Consumers, f.Load = []lifecycle.ConsumerState{gone(2, 0, "genbrain.agents.*.tasks.>")}, map[string]alerts.Load{"cto": {Waiting: 5}, "ceo": {Waiting: 9}}
		}, "14 messages wait for it."},
	} {
		var got string
		nobody := false
		for _, x := range find(func(f *alerts.Facts) { tt.facts(f); f.Published["cto"] = 1 }) {
			if x.Rule == alerts.RuleConsumerGone {
				got = x.Why
			}
			nobody = nobody || x.Rule == alerts.RuleNoConsumer
		}
		if got != "" && nobody {
			t.Errorf("%s: it also says that nothing waits yet", name)
		}
		if got != tt.want {
			t.Errorf("%s: it says %q, want %q", name, got, tt.want)
		}
	}
}

func TestDiscrepanciesAreNamed(t *testing.T) {
	t.Parallel()
	lists := func(totals ...int64) *reconcile.Report {
		r := &reconcile.Report{}
		for i, k := range []reconcile.DiscrepancyKind{reconcile.AckedNotRecorded, reconcile.RecordMissing, reconcile.ExhaustedOutsideDLQ, reconcile.ExpiredInStream}[:len(totals)] {
			r.Lists = append(r.Lists, reconcile.DiscrepancyList{Kind: k, Total: totals[i]})
		}
		return r
	}
	unexplained := lists(1)
	unexplained.Total.Unexplained = 2
	for want, report := range map[string]*reconcile.Report{
		"Exhausted, not in the dead-letter queue: 1.":                                                                      lists(0, 0, 1),
		"Acknowledged, no completion: 1,200. Record deleted: 3.":                                                           lists(1200, 3),
		"2 messages are unexplained. Acknowledged, no completion: 1.":                                                      unexplained,
		"Acknowledged, no completion: 1. Record deleted: 2. Exhausted, not in the dead-letter queue: 3. More on the page.": lists(1, 2, 3, 4),
	} {
		for _, x := range find(func(f *alerts.Facts) { f.Reconciled = &reconcile.Run{Report: report} }) {
			if x.Rule == alerts.RuleDiscrepancy && x.Why != want {
				t.Errorf("it says %q, want %q", x.Why, want)
			}
		}
	}
}
