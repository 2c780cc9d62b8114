package api

import (
	"context"
	"net/http"
	"slices"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// Lease is a message in a worker's hands.
type Lease struct {
	TaskID          string                `json:"task_id" example:"blog-post-118"`
	Stream          string                `json:"stream" example:"TASKS"`
	Seq             Sequence              `json:"seq" example:"1042"`
	Agent           Text                  `json:"agent" example:"marketing"`
	Type            Text                  `json:"type" example:"content_creation"`
	Title           Text                  `json:"title" doc:"Untrusted."`
	Consumer        Text                  `json:"consumer" example:"marketing-task-worker"`
	State           string                `json:"state" example:"redelivered"`
	Attempt         Count                 `json:"attempt" doc:"Null when no delivery is proved and no report names one." example:"2"`
	AttemptFrom     Text                  `json:"attempt_from" doc:"reported where only a report of the agent names the attempt; null where an answer or the broker's state shows it." example:"reported"`
	MaxDeliver      Count                 `json:"max_deliver" doc:"Null when not known or without limit." example:"3"`
	BeganAt         Instant               `json:"began_at"`
	BeganExact      bool                  `json:"began_exact" doc:"The broker's own time; otherwise a bound."`
	HeldMS          *int64                `json:"held_ms" doc:"Since the current attempt began; null when that is not known." example:"4200"`
	LastHeartbeatAt Instant               `json:"last_heartbeat_at"`
	LastHeartbeatOf Count                 `json:"last_heartbeat_attempt" doc:"The attempt that sent it: not the current one where the worker of an older one keeps the lease alive. Null when no heartbeat counts." example:"2"`
	WaitMS          *int64                `json:"wait_ms" doc:"The wait in force for this attempt; null when it is not known."`
	DeadlineAt      Instant               `json:"deadline_at" doc:"Last delivery or heartbeat plus the wait."`
	DeadlineLatest  bool                  `json:"deadline_at_latest" doc:"It may have run out before deadline_at: when the attempt was delivered is not known, and no heartbeat surely came in time."`
	Due             bool                  `json:"due" doc:"It was handed back, and its delay has passed at next.at: whether a worker has it again is not known. There is no deadline then."`
	StaleKind       Text                  `json:"stale_kind" doc:"What is wrong with it; null when nothing is." example:"expiring"`
	Unread          bool                  `json:"unread" doc:"Its deadline has passed, and it is not known whether anything is wrong with it. What workers answered since answers_read_at is not read yet, the consumers were not looked at since consumers_seen_at, or a gap says that answers were not captured."`
	StaleMeaning    Text                  `json:"stale_meaning"`
	Owner           Text                  `json:"owner" doc:"As reported. Untrusted."`
	LeaseVersion    Sequence              `json:"lease_version" doc:"The fencing token, as reported."`
	Typical         Maybe[Typical]        `json:"typical" doc:"How long tasks of its type take; null while none has completed."`
	Next            Maybe[NextStep]       `json:"next" doc:"What happens by itself; null when that is not known."`
	Revision        Sequence              `json:"revision" doc:"Of the decisions about the message: If-Match of its actions takes it. Null while nothing was decided."`
	Acting          Text                  `json:"acting" doc:"The action on it that has not ended; null for none." example:"release"`
	Resolved        Maybe[Resolution]     `json:"resolved" doc:"Who marked this attempt as resolved. That is a word of that person, and no completion."`
	Beside          bool                  `json:"beside" doc:"Several consumers have the message, and another one decides about its state: actions on the message are about that one's lease."`
	Recommendation  Maybe[Recommendation] `json:"recommendation" doc:"What to do, with reasons; null while nothing is recommended."`
}

// Typical is how long tasks of a type take.
type Typical struct {
	P50MS  int64 `json:"p50_ms" example:"42000"`
	P95MS  int64 `json:"p95_ms" example:"180000"`
	Sample int64 `json:"sample" doc:"Completed tasks behind the figures." example:"640"`
}

// NextStep is what happens by itself.
type NextStep struct {
	What string  `json:"what" enum:"redelivery,exhaustion,delivery,dead_letter" example:"redelivery"`
	At   Instant `json:"at" doc:"Null when it happens at no known time, such as at the next request of a worker."`
}

// Resolution is that somebody marked an attempt as resolved.
type Resolution struct {
	By   string  `json:"by"`
	Via  string  `json:"via"`
	At   Instant `json:"at"`
	Note Text    `json:"note"`
}

// Recommendation is a recovery decision.
type Recommendation struct {
	Decision       string             `json:"decision" enum:"reconcile,resume,retry,quarantine"`
	Rule           string             `json:"rule" doc:"The row of the recovery table that holds." example:"open_intent"`
	Confidence     string             `json:"confidence" enum:"high,medium,low" doc:"high: recorded; medium: the agent or the policy says so; low: little is known, or part of its time was not observed."`
	Reasons        []string           `json:"reasons" nullable:"false"`
	Evidence       []string           `json:"evidence" nullable:"false" doc:"Links to what it rests on."`
	Facts          []RecoveryEvidence `json:"facts" nullable:"false" doc:"The same evidence in words. Names in it are the fleet's, and untrusted."`
	WouldChange    []string           `json:"would_change" nullable:"false" doc:"What would change the decision."`
	EffectsUnknown bool               `json:"effects_unknown" doc:"It may have had effects that nobody confirmed: a release needs force."`
}

// RecoveryEvidence is one thing that a decision rests on.
type RecoveryEvidence struct {
	Text       string  `json:"text"`
	Provenance string  `json:"provenance" enum:"observed,broker,recorded,reported,inferred"`
	At         Instant `json:"at"`
	Link       string  `json:"link"`
}

// recommendationOf writes a decision of recovery about a task; null for none.
func recommendationOf(r *dlqtriage.Recovery, task string) Maybe[Recommendation] {
	if r == nil {
		return Maybe[Recommendation]{}
	}
	out := Recommendation{
		Decision: string(r.Remedy), Rule: r.Rule, Confidence: string(r.Confidence), Reasons: r.Reasons, WouldChange: r.Changes, Evidence: []string{},
		Facts: []RecoveryEvidence{}, EffectsUnknown: r.Unknown,
	}
	for _, e := range r.Evidence {
		link := e.Link(task, lifecycle.PageOfTask)
		out.Facts = append(out.Facts, RecoveryEvidence{Text: e.Text, Provenance: string(e.Provenance), At: Instant(e.At), Link: link})
		if !slices.Contains(out.Evidence, link) {
			out.Evidence = append(out.Evidence, link)
		}
	}
	return just(out)
}

func leaseOf(l lifecycle.Lease, typical map[string]lifecycle.Typical, now lifecycle.Micros) Lease {
	out := Lease{
		TaskID: l.TaskID, Stream: l.Message.Stream.String(), Seq: Sequence(l.Message.Seq), Agent: Text(l.Agent), Type: Text(l.Type),
		Title: Text(l.Title), Consumer: Text(l.Consumer), State: string(l.State), Attempt: leaseAttempt(l), AttemptFrom: leaseAttemptFrom(l), MaxDeliver: Count(l.MaxDeliver),
		BeganAt: Instant(l.BeganAt), BeganExact: l.BeganExact, HeldMS: knownMilliseconds(l.Held(now), l.BeganAt.Known()),
		LastHeartbeatAt: Instant(l.LastBeat), LastHeartbeatOf: Count(l.Sender), WaitMS: knownMilliseconds(l.Wait, l.Wait > 0), DeadlineAt: Instant(l.Deadline), DeadlineLatest: l.AtLatest,
		Due: l.Due, StaleKind: Text(l.Stale), StaleMeaning: Text(l.Stale.Meaning()), Unread: l.Unread, Owner: Text(l.Owner), LeaseVersion: Sequence(l.LeaseVersion),
		Typical: typicalOf(typical, l.Type), Revision: Sequence(l.Revision), Acting: Text(l.Acting), Beside: l.Beside,
	}
	if r := l.Resolved; r != nil {
		out.Resolved = just(Resolution{By: r.Actor, Via: r.Via, At: Instant(r.At), Note: Text(r.Reason)})
	}
	if l.Next.What != "" {
		out.Next = just(NextStep{What: l.Next.What, At: Instant(l.Next.At)})
	}
	return out
}

func typicalOf(typical map[string]lifecycle.Typical, taskType string) Maybe[Typical] {
	return maybeTypical(typical[taskType])
}

// maybeTypical is null where no task is behind the figures.
func maybeTypical(t lifecycle.Typical) Maybe[Typical] {
	if t.Sample == 0 {
		return Maybe[Typical]{}
	}
	return just(Typical{P50MS: t.P50.Milliseconds(), P95MS: t.P95.Milliseconds(), Sample: t.Sample})
}

func leaseWithoutClock(m Maybe[Lease]) Maybe[Lease] {
	if m.Value == nil {
		return m
	}
	l := *m.Value
	l.HeldMS = nil
	return just(l)
}

// InFlightList is the in-flight board.
type InFlightList struct {
	List[Lease]
	Truncated     bool    `json:"truncated" doc:"More messages are open than are checked one by one: leases may be missing."`
	AnswersReadAt Instant `json:"answers_read_at" doc:"What workers answered is read up to this time, and no lease is judged by a later one. It lags by the time since the collector last looked, and by more while the collector is behind or down. Null while the collector has read nothing since the program began."`
	ConsumersAt   Instant `json:"consumers_seen_at" doc:"The consumers were last looked at then, and no lease is judged by a later time: a consumer may have been given more time since. Null while nobody has looked since the program began."`
}

// InFlightQuery is the query of the in-flight board.
type InFlightQuery struct {
	PageQuery
	Agent     []string `query:"agent,explode" doc:"Agents."`
	Type      []string `query:"type,explode" doc:"Task types."`
	Stream    []string `query:"stream,explode" doc:"Streams."`
	StaleKind []string `query:"stale_kind,explode" doc:"Stale kinds, or any."`
}

func (a *API) describeFleet() {
	register(a, call{
		id: "list-in-flight", needs: access.Read, path: Base + "/in-flight", tag: "fleet", summary: "Leases held now", example: exampleInFlight(),
		detail: "Every message that some worker holds, or held until its deadline passed, by the time to its deadline; where several consumers have a message, the lease of each. " +
			"A message that was handed back and is due again may be in a worker's hands: it is listed as failed, without a deadline. " +
			"Deadlines move with heartbeats: a walk over several pages is exact only while they do not.",
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listInFlight)
	a.describeHeldActions()
	enumerate(a, "/in-flight", "stale_kind", append(lifecycle.StaleKinds(), "any"))
	register(a, call{
		id: "list-agents", needs: access.Read, path: Base + "/agents", tag: "fleet", summary: "The agents and their load", example: exampleAgents(),
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listAgents)
	register(a, call{
		id: "get-agent", needs: access.Read, path: Base + "/agents/{agent}", tag: "fleet", summary: "One agent", example: exampleAgent(),
		detail:   "With its throughput by minute over the last hour.",
		failures: []httperr.Code{httperr.NotFound},
	}, a.getAgent)
	register(a, call{
		id: "get-fleet-stats", needs: access.Read, path: Base + "/stats/fleet", tag: "fleet", summary: "The fleet's figures", example: exampleFleet(),
		detail: "A figure that is not known is null, with the reason.",
	}, a.fleetStats)
}

func (a *API) listInFlight(ctx context.Context, in *InFlightQuery) (*reply[InFlightList], error) {
	l, wrongPage := a.listRequest(ctx, in.PageQuery)
	if err := together(in.check(), wrongPage); err != nil {
		return nil, err
	}
	inFlight, err := a.cfg.Query.InFlight(ctx)
	if err != nil {
		return nil, err
	}
	l.now = inFlight.AsOf // The leases were judged then: a shared answer is older than the request.
	typical, err := a.cfg.Query.Typical(ctx)
	if err != nil {
		return nil, err
	}
	gaps, err := a.recentGapRefs(ctx)
	if err != nil {
		return nil, err
	}
	leases := slices.DeleteFunc(slices.Clone(inFlight.Leases), func(lease lifecycle.Lease) bool { return !in.selects(lease) })
	page, p := window(l, leases, leasePlace)
	rows := make([]Lease, len(page))
	for i, lease := range page {
		rows[i] = leaseOf(lease, typical, l.now)
		if r, decided := inFlight.Recovery(lease); decided {
			rows[i].Recommendation = recommendationOf(&r, lease.TaskID)
		}
	}
	list := listReply(ctx, l, rows, p, gaps)
	body := InFlightList{List: list.Body, Truncated: inFlight.Partial, AnswersReadAt: Instant(inFlight.AnswersRead()), ConsumersAt: Instant(inFlight.ConsumersSeen())}
	// No entity tag: held_ms always moves.
	return &reply[InFlightList]{Status: http.StatusOK, Link: list.Link, CacheControl: "no-cache", Body: body}, nil
}

func (q *InFlightQuery) check() error {
	for _, k := range q.StaleKind {
		if k != "any" && lifecycle.StaleKind(k).Meaning() == "" {
			return httperr.Parameter("stale_kind", "must be a stale kind, or any")
		}
	}
	return nil
}

func (q *InFlightQuery) selects(l lifecycle.Lease) bool {
	holds := func(wanted []string, value string) bool { return len(wanted) == 0 || slices.Contains(wanted, value) }
	stale := holds(q.StaleKind, string(l.Stale)) || (l.Stale != "" && slices.Contains(q.StaleKind, "any"))
	return stale && holds(q.Agent, l.Agent) && holds(q.Type, l.Type) && holds(q.Stream, l.Message.Stream.String())
}

// leasePlace orders leases by the time to their deadline, those without one last.
func leasePlace(l lifecycle.Lease) query.Cursor {
	return query.Cursor{At: l.Deadline, Key: l.Message.String() + " " + l.Consumer}
}

// leaseAttempt is the number of a lease's attempt, none where no report names it and nothing else shows it.
func leaseAttempt(l lifecycle.Lease) Count {
	if l.AttemptFrom == lifecycle.Inferred {
		return 0
	}
	return Count(l.Attempt)
}

func leaseAttemptFrom(l lifecycle.Lease) Text {
	if l.AttemptFrom == lifecycle.Inferred {
		return ""
	}
	return Text(l.AttemptFrom)
}
