package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

func TestInFlightIsSortedByDeadlineAndSaysWhatIsWrong(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.worker("cto")
		f.worker("backend")
		f.published("waits", "cto", 1)
		f.published("late", "cto", 2)
		f.delivered("late", "cto", 2, 1) // Deadline 30 s.
		f.published("fine", "backend", 3)
		f.delivered("fine", "backend", 3, 3) // The last attempt; deadline 5 min.
		f.published("unknown", "devops", 4)
		f.delivered("unknown", "devops", 4, 1) // No consumer is known.
		f.tell(lifecycle.Event{
			Kind: lifecycle.ReportClaimed, TaskID: "fine", Provenance: lifecycle.Reported, Attempt: 3,
			Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "fine"}, LeaseReport: lifecycle.LeaseReport{LeaseOwner: "backend-1", LeaseVersion: 1<<60 + 1}},
		})
		f.tell(lifecycle.Event{Kind: lifecycle.ReportAccepted, TaskID: "fine", Provenance: lifecycle.Reported, Attempt: 3, Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "fine"}}})
		f.commit()
		list := get[InFlightList](f, "/api/v1/in-flight")
		got := []string{}
		for _, l := range list.Data {
			got = append(got, fmt.Sprintf("%s %s", l.TaskID, l.StaleKind))
		}
		if diff := cmp.Diff([]string{"late stale", "fine ", "unknown "}, got); diff != "" {
			t.Fatalf("leases (-want +got):\n%s", diff)
		}
		late, fine, unknown := list.Data[0], list.Data[1], list.Data[2]
		if late.Next.Value == nil || late.Next.Value.What != "redelivery" || late.HeldMS == nil || *late.HeldMS < 60_000 || late.StaleMeaning == "" {
			t.Errorf("late = %+v", late)
		}
		if fine.Next.Value.What != "exhaustion" || fine.Owner != "backend-1" || fine.LeaseVersion != 1<<60+1 || fine.Attempt != 3 || fine.MaxDeliver != 3 {
			t.Errorf("fine = %+v", fine)
		}
		if unknown.DeadlineAt != 0 || unknown.WaitMS != nil || unknown.MaxDeliver != 0 || unknown.Typical.Value != nil {
			t.Errorf("unknown = %+v: nothing tells its deadline", unknown)
		}
		if stale := get[InFlightList](f, "/api/v1/in-flight?stale_kind=any"); len(stale.Data) != 1 {
			t.Errorf("stale = %+v", stale.Data)
		}
		if backend := get[InFlightList](f, "/api/v1/in-flight?agent=backend&stream=TASKS&type=content_creation"); len(backend.Data) != 1 {
			t.Errorf("backend = %+v", backend.Data)
		}
	})
}

func TestInFlightFindsLeasesBehindALongBacklog(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.worker("cto")
	f.worker("backend")
	const backlog = 6000
	for i := range backlog {
		f.published(fmt.Sprint("waits-", i), "cto", uint64(i+1))
	}
	f.published("held", "backend", backlog+1)
	f.delivered("held", "backend", backlog+1, 1)
	f.commit()
	if list := get[InFlightList](f, "/api/v1/in-flight"); len(list.Data) != 1 || list.Data[0].TaskID != "held" || list.Truncated {
		t.Errorf("leases = %+v, truncated %v, want the one behind the backlog, and that all were looked at", list.Data, list.Truncated)
	}
}

func TestInFlightPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.worker("cto")
	for i := range 7 {
		id := fmt.Sprint("t", i)
		f.published(id, "cto", uint64(i+1))
		f.delivered(id, "cto", uint64(i+1), 1)
	}
	f.commit()
	whole := get[InFlightList](f, "/api/v1/in-flight")
	var walked []Lease
	cursor := ""
	for range 3 {
		page := get[InFlightList](f, "/api/v1/in-flight?limit=3"+cursor)
		walked = append(walked, page.Data...)
		cursor = "&cursor=" + string(page.Page.Next)
	}
	if diff := cmp.Diff(whole.Data, walked); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestTypicalDurationsComeFromWhatCompleted(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.worker("cto")
		for i := range 10 {
			f.completed(fmt.Sprint("done-", i), "cto", uint64(i+1))
		}
		f.published("now", "cto", 50)
		f.delivered("now", "cto", 50, 1)
		f.commit()
		lease := get[InFlightList](f, "/api/v1/in-flight").Data[0]
		typical := lease.Typical.Value
		if typical == nil || typical.Sample != 10 || typical.P50MS < 20_000 || typical.P50MS > 24_000 || typical.P95MS < typical.P50MS {
			t.Errorf("typical = %+v", typical)
		}
	})
}

func TestAgentsAndTheirLoad(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.worker("cto")
		f.completed("a", "cto", 1)
		f.completed("b", "cto", 2)
		f.published("c", "cto", 3)
		f.delivered("c", "cto", 3, 1)
		f.did(lifecycle.Nacked, "c", "cto", 3, 1)
		f.delivered("c", "cto", 3, 2)
		beat := f.did(lifecycle.Heartbeat, "c", "cto", 3, 2)
		f.published("d", "cto", 4)
		f.published("e", "marketing/é", 5)
		f.commit()
		list := get[List[Agent]](f, "/api/v1/agents")
		if len(list.Data) != 2 {
			t.Fatalf("agents = %+v", list.Data)
		}
		cto, other := list.Data[0], list.Data[1]
		if cto.Agent != "cto" || cto.InFlight != 1 || cto.Queue.Pending == nil || *cto.Queue.Pending != 4 || cto.Tasks != 4 || cto.States["completed"] != 2 {
			t.Errorf("cto = %+v", cto)
		}
		if cto.Throughput.CompletedHour != 2 || cto.Throughput.PublishedHour != 4 || cto.Failures.AttemptsDay != 1 || cto.Failures.HowDay["naked"] != 1 {
			t.Errorf("throughput %+v, failures %+v", cto.Throughput, cto.Failures)
		}
		if cto.Durations.Value == nil || cto.Durations.Value.Sample != 2 || cto.LastSeenAt != Instant(beat.At) || len(cto.Consumers) != 1 || cto.Queue.OldestAt == 0 {
			t.Errorf("cto = %+v, last seen %v", cto, cto.LastSeenAt)
		}
		if other.Agent != "marketing/é" || other.Queue.Pending != nil || other.Durations.Value != nil || other.LastSeenAt != 0 {
			t.Errorf("other = %+v: nothing is known of its worker", other)
		}
		detail := get[AgentDetail](f, other.Links.Self)
		if detail.Agent.Agent != "marketing/é" || len(detail.Minutes) == 0 {
			t.Errorf("detail = %+v", detail)
		}
		if tasks := get[List[TaskRow]](f, other.Links.Tasks); len(tasks.Data) != 1 {
			t.Errorf("its tasks = %+v", tasks.Data)
		}
		if d := get[AgentDetail](f, "/api/v1/agents/cto"); len(d.Types) != 1 || d.Types[0].Type != "content_creation" {
			t.Errorf("types = %+v", d.Types)
		}
	})
}

func TestAgentPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for i := range 5 {
		f.published(fmt.Sprint("t", i), fmt.Sprint("agent-", i), uint64(i+1))
	}
	f.commit()
	first := get[List[Agent]](f, "/api/v1/agents?limit=3")
	second := get[List[Agent]](f, "/api/v1/agents?limit=3&cursor="+string(first.Page.Next))
	back := get[List[Agent]](f, "/api/v1/agents?limit=3&cursor="+string(second.Page.Prev))
	if len(first.Data) != 3 || len(second.Data) != 2 || second.Data[0].Agent != "agent-3" || second.Page.Next != "" {
		t.Errorf("pages = %d and %d rows", len(first.Data), len(second.Data))
	}
	if diff := cmp.Diff(first.Data, back.Data); diff != "" {
		t.Errorf("back (-want +got):\n%s", diff)
	}
}

func TestFleetFiguresAreNullWithAReasonWhereNotKnown(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		empty := get[FleetStats](f, "/api/v1/stats/fleet")
		if empty.Figures.DLQRate.Value != nil || empty.Figures.DLQRate.Reason == "" || *empty.Figures.InFlight.Value != 0 {
			t.Errorf("empty = %+v", empty.Figures)
		}
		f.worker("cto")
		f.completed("a", "cto", 1)
		f.published("b", "cto", 2)
		f.delivered("b", "cto", 2, 1)
		f.published("c", "cto", 3)
		f.did(lifecycle.DeadLettered, "d", "cto", 4, 0, func(e *lifecycle.Event) { e.ConsumerSeq, e.Raw = 0, nil })
		f.batch.Quarantined = append(f.batch.Quarantined, lifecycle.QuarantinedLine{ID: 5, Source: "OBS_ACK", At: f.now, Reason: "odd"})
		f.batch.Gaps = append(f.batch.Gaps, lifecycle.Gap{Source: "OBS_EVT", From: f.now})
		f.commit()
		got := get[FleetStats](f, "/api/v1/stats/fleet")
		g := got.Figures
		for name, c := range map[string]struct {
			figure Figure
			want   float64
		}{
			"in_flight": {g.InFlight, 1}, "stale": {g.StaleInFlight, 1}, "published": {g.Published, 3}, "completed": {g.Completed, 1},
			"died": {g.Died, 1}, "undecodable": {g.UndecodableLines, 1}, "gaps": {g.OpenGaps, 1}, "dlq rate": {g.DLQRate, 1.0 / 3},
			"caught": {g.DuplicatesCaughtByStream, 0}, "quarantined": {g.Quarantined, 0},
		} {
			if c.figure.Value == nil || *c.figure.Value != c.want || c.figure.Unit == "" {
				t.Errorf("%s = %+v, want %v", name, c.figure, c.want)
			}
		}
		if age := g.PendingQueueAge.Value; age == nil || *age < 60 || *age > 61 {
			t.Errorf("pending queue age = %+v", g.PendingQueueAge)
		}
		for name, figure := range map[string]Figure{"receipts": g.ReceiptMissingRecoveries, "sent again": g.OutboundSendRetries, "missed": g.MissedMessageIncidents} {
			if figure.Value != nil || figure.Reason == "" { // No agent reported anything.
				t.Errorf("%s = %+v", name, figure)
			}
		}
		if len(got.Lag) != 1 || got.Lag[0].LagMS == nil || *got.Lag[0].LagMS != 1500 || got.States["completed"] != 1 {
			t.Errorf("lag = %+v, states = %v", got.Lag, got.States)
		}
	})
}

func TestQuarantineKeepsTheBytes(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		for i := range 3 {
			f.batch.Quarantined = append(f.batch.Quarantined, lifecycle.QuarantinedLine{
				ID: lifecycle.EventID(i + 1), Source: "OBS_ACK", SourceSeq: uint64(i + 1), At: f.now.Add(time.Duration(i) * time.Second), Subject: "$JS.ACK.<b>",
				Headers: map[string][]string{"A": {"1"}}, Body: []byte{0xff, byte(i)}, Reason: "has 3 tokens",
			})
		}
		f.commit()
		list := get[QuarantineList](f, "/api/v1/quarantine?limit=2")
		if list.Total != 3 || len(list.Data) != 2 || list.Data[0].Body != "/wI=" || list.Data[0].BodyEncoding != "base64" || list.Data[0].SourceSeq != 3 {
			t.Errorf("list = %+v", list)
		}
		rest := get[QuarantineList](f, "/api/v1/quarantine?limit=2&cursor="+string(list.Page.Next))
		if len(rest.Data) != 1 || rest.Data[0].SourceSeq != 1 || rest.Page.Next != "" {
			t.Errorf("rest = %+v", rest)
		}
	})
}

func TestReadinessTellsEveryPart(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	if got := get[Readiness](f, "/readyz"); !got.Ready || len(got.Parts) != 1 || *got.Parts[0].LagMS != 1500 || got.Parts[0].LastAt != 0 {
		t.Errorf("ready = %+v", got)
	}
	f.mu.Lock()
	f.parts = append(f.parts, health.Part{Name: "nats", Kind: "broker", State: health.Down, Detail: "connection refused"})
	f.mu.Unlock()
	a := f.do("GET", "/readyz", "")
	if got := parse[Readiness](t, a.body); a.status != 503 || got.Ready || got.Parts[1].Detail != "connection refused" || got.Parts[1].LagMS != nil || got.Parts[1].Pending != nil {
		t.Errorf("not ready = %d %+v", a.status, got)
	}
	if got := get[Alive](f, "/healthz"); !got.Alive || got.Version != "dev" {
		t.Errorf("alive = %+v", got)
	}
}
