package api

import (
	"time"

	"fleetglass/lifecycle"
	"fleetglass/query"
)

// The examples of the OpenAPI document are one small story, told by the same types and rules as the answers: a blog post whose first
// attempt ran out of time and whose second is in hand.

func exampleTime(after time.Duration) lifecycle.Micros {
	return lifecycle.MicrosOf(time.Date(2026, 11, 20, 16, 0, 0, 123456000, time.UTC)).Add(after)
}

func exampleKey() lifecycle.MessageKey {
	return lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1042}
}

func exampleConsumer() lifecycle.ConsumerState {
	return lifecycle.ConsumerState{
		Stream: lifecycle.StreamID{Name: "TASKS"}, Name: "marketing-task-worker", ObservedAt: exampleTime(6 * time.Minute),
		Filters: []string{"genbrain.agents.marketing.tasks.>"}, AckWait: 5 * time.Minute,
		Backoff:    []time.Duration{30 * time.Second, 2 * time.Minute, 5 * time.Minute},
		MaxDeliver: 3, MaxAckPending: 1, AckPending: 1, Redelivered: 1, Pending: 4, DeliveredSeq: 1042, DeliveredAt: exampleTime(32 * time.Second),
	}
}

func exampleLog() []lifecycle.Event {
	ack := lifecycle.StreamID{Name: "OBS_ACK"}
	return []lifecycle.Event{
		{
			ID: lifecycle.StreamEventID(lifecycle.StreamID{Name: "OBS_PUB"}, 7001), At: exampleTime(0), Kind: lifecycle.Published,
			Provenance: lifecycle.Observed, Source: "OBS_PUB", SourceSeq: 7001, TaskID: "blog-post-118", Message: exampleKey(), Agent: "marketing",
			Detail: lifecycle.Detail{
				Naming: lifecycle.Naming{
					MsgID: "blog-post-118", Subject: "genbrain.agents.marketing.tasks.content_creation", Type: "content_creation",
					IdempotencyKey: "blog-post-118-1", PayloadHash: "9f86d081884c7d65",
				},
				Publication: lifecycle.Publication{Title: "Draft the launch post", Size: 512},
			},
		},
		{
			ID: lifecycle.StreamEventID(ack, 9001), At: exampleTime(1500 * time.Millisecond), Kind: lifecycle.Heartbeat,
			Provenance: lifecycle.Observed, Source: "OBS_ACK", SourceSeq: 9001, TaskID: "blog-post-118", Message: exampleKey(), Agent: "marketing",
			Consumer: "marketing-task-worker", ConsumerSeq: 2201, Attempt: 1,
			Raw: []byte("$JS.ACK.TASKS.marketing-task-worker.1.1042.2201.1795190401623456.4\n+WPI"),
		},
		{
			ID: lifecycle.StreamEventID(ack, 9007), At: exampleTime(33 * time.Second), Kind: lifecycle.Heartbeat,
			Provenance: lifecycle.Observed, Source: "OBS_ACK", SourceSeq: 9007, TaskID: "blog-post-118", Message: exampleKey(), Agent: "marketing",
			Consumer: "marketing-task-worker", ConsumerSeq: 2202, Attempt: 2,
		},
	}
}

func exampleStory() query.Trace {
	var m lifecycle.MessageFacts
	for _, e := range exampleLog() {
		m.Join(e)
	}
	t := lifecycle.TaskFacts{
		ID: "blog-post-118", Agent: "marketing", Messages: 1, Head: lifecycle.Head{Key: exampleKey()},
		Publishes: map[string]*lifecycle.PublishFacts{
			"blog-post-118": {Recorded: []lifecycle.PublishAttempt{{At: exampleTime(0), ID: 1}, {At: exampleTime(time.Second), ID: 2}}, Stored: []lifecycle.MessageKey{exampleKey()}, StoredAt: exampleTime(0)},
		},
	}
	return query.Trace{Typical: exampleTypical(), Trace: lifecycle.AssembleTrace(lifecycle.TraceInput{
		Record:    lifecycle.TaskRecord{Facts: t, Summary: lifecycle.Summarize(t, &m), Messages: []lifecycle.MessageFacts{m}},
		Consumers: []lifecycle.ConsumerState{exampleConsumer()}, Now: exampleTime(40 * time.Second),
	})}
}

func exampleTypical() map[string]lifecycle.Typical {
	return map[string]lifecycle.Typical{"content_creation": {P50: 42 * time.Second, P95: 180 * time.Second, Sample: 640}}
}

func exampleList[T any](rows ...T) List[T] {
	return List[T]{
		Data: rows, Page: Page{Next: "AAKq8Lz3"}, AsOf: Instant(exampleTime(40 * time.Second)),
		Gaps: []GapRef{{Source: "OBS_ACK", From: Instant(exampleTime(-time.Hour)), To: Instant(exampleTime(-59 * time.Minute)), Reason: "12 lines were discarded before anybody read them"}},
	}
}

func exampleTasks() List[TaskRow] {
	return exampleList(rowOf(query.TaskRow{TaskSummary: exampleStory().Summary, MaxDeliver: exampleConsumer().MaxDeliver}))
}

func exampleTrace() Trace { return traceOf(exampleStory()) }

func exampleEvents() List[Event] {
	var rows []Event
	for _, e := range exampleLog() {
		rows = append(rows, eventOf(e))
	}
	return exampleList(rows...)
}

func exampleCounts() TaskCounts {
	c := TaskCounts{Counts: map[string]int64{}, Total: 7, AsOf: Instant(exampleTime(0)), Gaps: []GapRef{}}
	for _, s := range lifecycle.States() {
		c.Counts[string(s)] = 0
	}
	c.Counts["completed"], c.Counts["redelivered"] = 6, 1
	return c
}

func examplePayload() Payload {
	return Payload{
		TaskID: "blog-post-118", Stream: "TASKS", Seq: 1042, PublishedAt: Instant(exampleTime(0)),
		Headers: map[string][]string{"Nats-Msg-Id": {"blog-post-118"}}, SizeBytes: 27, Body: `{"taskId":"blog-post-118"}`,
		BodyEncoding: encodingUTF8, AsOf: Instant(exampleTime(time.Minute)),
	}
}

func exampleReport() RecoveryReport {
	t := exampleStory()
	return RecoveryReport{
		TaskID: t.Summary.TaskID, AsOf: Instant(t.AsOf), Trace: traceOf(t), Restarts: restartsOf(t), Markdown: reportText(t),
	}
}

func exampleInFlight() InFlightList {
	t := exampleStory()
	return InFlightList{List: exampleList(leaseOf(*t.Lease, t.Typical, t.AsOf)), AnswersReadAt: Instant(t.AsOf), ConsumersAt: Instant(t.AsOf)}
}

func exampleStatistics() query.AgentStatistics {
	minute := exampleTime(0).Truncate(time.Minute)
	hour := query.Throughput{Published: 3, Completed: 2}
	return query.AgentStatistics{
		Name: "marketing", States: map[lifecycle.State]int64{lifecycle.StateCompleted: 6, lifecycle.StateRedelivered: 1}, Tasks: 7,
		Leases: []lifecycle.Lease{*exampleStory().Lease}, Consumers: []lifecycle.ConsumerState{exampleConsumer()}, Pending: 4, PendingKnown: true,
		OldestWaiting: exampleTime(20 * time.Second), Hour: hour, Day: query.Throughput{Published: 7, Completed: 6, Failed: 1},
		FailedHow: map[string]int64{"timed_out": 1}, Durations: exampleTypical()["content_creation"], LastSeen: exampleTime(33 * time.Second),
		Minutes: []query.Minute{{At: minute, Throughput: hour}},
		Types:   []query.TypeStatistics{{Name: "content_creation", Published: 7, Completed: 6, Durations: exampleTypical()["content_creation"]}},
	}
}

func exampleAgents() List[Agent] { return exampleList(agentOf(exampleStatistics())) }

func exampleAgent() AgentDetail {
	out := agentDetailOf(exampleStatistics())
	out.Gaps, out.AsOf = []GapRef{}, Instant(exampleTime(40*time.Second))
	return out
}

func exampleFleet() FleetStats {
	s := statsOf(query.Statistics{
		AsOf: exampleTime(time.Minute), States: query.StateCounts{ByState: exampleStatistics().States}, Day: exampleStatistics().Day, TimedOut: 1,
	})
	s.Figures.InFlight, s.Figures.PendingQueueAge = figure(1, "messages"), figure(40, "seconds")
	s.Alerts = map[string]int{"critical": 0, "warning": 1, "info": 0}
	s.Firing = []AlertRef{{ID: "stale-5f0c2b1a9d8e", Rule: "stale", Severity: "warning", What: "“Blog post 118” is stale", Agent: "marketing", Self: alertPath("stale-5f0c2b1a9d8e")}}
	s.Attention = []Attention{{
		Rule: "backlog_idle", Harm: "standstill", Severity: "critical", What: "30,135 messages wait for marketing: no worker pulls", Why: "Nothing was delivered meanwhile, and nobody asks for work.",
		Next: "Check that the agent runs, and that it can reach the broker.", Count: 30135, Since: Instant(exampleTime(-time.Minute)), Agent: "marketing",
		Do: AlertAction{Label: "Open the agent", Page: "/agents/marketing"},
	}}
	s.Lag = []Lag{{Source: "publishes", State: "ok", LagMS: new(int64), Pending: new(uint64)}}
	return s
}

func exampleGaps() List[Gap] {
	return exampleList(Gap{
		Source: "OBS_ACK", From: Instant(exampleTime(-time.Hour)), To: Instant(exampleTime(-59 * time.Minute)), FromSeq: 8100, ToSeq: 8120,
		Reason: "Lines were discarded before they were read.",
	})
}

func exampleQuarantine() QuarantineList {
	return QuarantineList{Total: 1, List: exampleList(Quarantined{
		ID: "5f0c2b1a9d8e7f60", Source: "OBS_ACK", SourceSeq: 9002, At: Instant(exampleTime(0)), Subject: "$JS.ACK.odd",
		Headers: map[string][]string{}, Body: "/wD+", BodyEncoding: encodingBase64, Reason: "acknowledgement subject has 3 tokens",
	})}
}

func exampleAccepted() ReportsAccepted {
	return ReportsAccepted{Accepted: 1, New: 1, Events: []AcceptedEvent{{TaskID: "blog-post-118", ID: "5f0c2b1a9d8e7f60", Kind: "checkpoint"}}}
}

func exampleReportEvent() map[string]any {
	return map[string]any{
		"specversion": "1.0", "id": "r-1", "source": "/agents/marketing", "type": "fleet.lifecycle.checkpoint.v1", "subject": "blog-post-118",
		"time": "2026-11-20T16:00:10.5Z", "data": map[string]any{"attempt": 2, "lease_owner": "marketing-1", "lease_version": 7},
	}
}

func exampleReadiness() Readiness {
	return Readiness{Ready: true, AsOf: Instant(exampleTime(0)), Parts: []Part{{
		Name: "publishes", Kind: "collector", State: "ok", LagMS: new(int64), Pending: new(uint64), LastAt: Instant(exampleTime(0)), Handled: 7001,
	}}}
}

func exampleStream() string {
	return "retry: 2000\n\nevent: counts\ndata: {\"counts\":{\"redelivered\":1},\"total\":1,\"alerts\":{\"critical\":0,\"info\":0,\"warning\":1}}\n\nevent: task\nid: 5f0c2b1a9d8e-42\n" +
		"data: {\"task_id\":\"blog-post-118\",\"state\":\"redelivered\",\"agent\":\"marketing\",\"at\":\"2026-11-20T16:00:33.123456Z\"," +
		"\"self\":\"/api/v1/tasks/blog-post-118\"}\n\nevent: dlq\nid: 5f0c2b1a9d8e-43\n" +
		"data: {\"task_id\":\"blog-post-7\",\"agent\":\"cto\",\"at\":\"2026-11-20T16:00:34.123456Z\",\"self\":\"/api/v1/dlq?id=blog-post-7\"}\n\n"
}
