package query

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// inFlightAge is how long an answer about leases is shared.
const inFlightAge = 500 * time.Millisecond

// InFlight is what workers hold now, and what is overdue.
type InFlight struct {
	AsOf   lifecycle.Micros
	Leases []lifecycle.Lease // Worst stale kind first, then by deadline, those without one last.

	// OldestWaiting says for each agent when the oldest message that no worker has now was stored. An agent without such a message
	// among those that were read is absent.
	OldestWaiting map[string]lifecycle.Micros

	// Partial says that more messages are open than were checked one by one: leases may be missing, and counts are lower bounds.
	Partial bool

	answersRead   lifecycle.Micros
	consumersSeen lifecycle.Micros

	held, stale int
	byTask      map[string]int
	unseen      []lifecycle.Gap                  // In which answers may not have been captured.
	relied      []lifecycle.CompletionRef        // [Service.ReliedRecords].
	decided     map[lifecycle.MessageKey]decided // Of messages with a lease with which something is wrong.
}

// decided is what recovery decides about a message, and what stands in the way of each action on it.
type decided struct {
	recovery dlqtriage.Recovery
	blocked  map[dlqtriage.ActionKind][]dlqtriage.Obstacle
}

// Recovery returns what recovery decides about a lease. ok is false where nothing is wrong with it.
func (f InFlight) Recovery(l lifecycle.Lease) (r dlqtriage.Recovery, ok bool) {
	if l.Stale == "" {
		return r, false
	}
	d, ok := f.decided[l.Message]
	return d.recovery, ok
}

// Blocked returns what stands in the way of the actions on a lease with which something is wrong, as their previews say it. An action that nothing blocks is absent.
func (f InFlight) Blocked(l lifecycle.Lease) map[dlqtriage.ActionKind][]dlqtriage.Obstacle {
	return f.decided[l.Message].blocked
}

// Held counts the leases of messages that a worker holds.
func (f InFlight) Held() int { return f.held }

// Stale counts the leases with something wrong.
func (f InFlight) Stale() int { return f.stale }

// Urgent counts those among them that have something wrong already: that a lease is about to expire is no alarm.
func (f InFlight) Urgent() int { return f.stale - len(f.OfKind(lifecycle.StaleExpiring)) }

// OfKind returns the leases of one stale kind, by deadline; those with which nothing is wrong for the empty kind. They belong to the answer.
func (f InFlight) OfKind(k lifecycle.StaleKind) []lifecycle.Lease {
	from := slices.IndexFunc(f.Leases, func(l lifecycle.Lease) bool { return l.Stale == k })
	if from < 0 {
		return nil
	}
	to := from + sort.Search(len(f.Leases)-from, func(i int) bool { return f.Leases[from+i].Stale != k })
	return f.Leases[from:to:to]
}

// Healthy returns the leases that a worker holds and with which nothing is wrong, by deadline.
func (f InFlight) Healthy() []lifecycle.Lease {
	return slices.DeleteFunc(slices.Clone(f.OfKind("")), func(l lifecycle.Lease) bool { return l.Due || l.Unread })
}

// Unread returns the leases whose deadline has passed, while what workers answered later is not read yet.
func (f InFlight) Unread() []lifecycle.Lease {
	return f.few(func(l *lifecycle.Lease) bool { return l.Unread })
}

// HandedBack returns the leases whose message was handed back and is due again, with nothing else wrong.
func (f InFlight) HandedBack() []lifecycle.Lease {
	return f.few(func(l *lifecycle.Lease) bool { return l.Due })
}

// few returns those of the leases with which nothing is wrong that are one in many, without a copy of all.
func (f InFlight) few(is func(*lifecycle.Lease) bool) (out []lifecycle.Lease) {
	all := f.OfKind("")
	for i := range all {
		if is(&all[i]) {
			out = append(out, all[i])
		}
	}
	return out
}

// OfTask returns the worst lease on a message of the task, or nil.
func (f InFlight) OfTask(id string) *lifecycle.Lease {
	if i, found := f.byTask[id]; found {
		return &f.Leases[i]
	}
	return nil
}

// OfAgent returns the leases of an agent, worst first.
func (f InFlight) OfAgent(name string) []lifecycle.Lease {
	var out []lifecycle.Lease
	for _, l := range f.Leases {
		if l.Agent == name {
			out = append(out, l)
		}
	}
	return out
}

// OldestWaitingAge is the age of the oldest message that no worker has now; zero when nothing waits.
func (f InFlight) OldestWaitingAge() time.Duration {
	var age time.Duration
	for _, at := range f.OldestWaiting {
		age = max(age, f.AsOf.Sub(at))
	}
	return age
}

// InFlight returns what workers hold now. It looks at openLimit open messages, which is all of them unless the backlog is very long.
// With a longer backlog it adds the newest messages of the tasks whose state says that a worker has them, and sets [InFlight.Partial].
func (s *Service) InFlight(ctx context.Context) (InFlight, error) {
	return askAhead(ctx, s.cache, "in flight", inFlightAge, func(ctx context.Context, now lifecycle.Micros) (InFlight, error) {
		answersRead := readBy(answerSource, s.Parts(), now)
		consumers, err := s.Consumers(ctx)
		if err != nil {
			return InFlight{}, err
		}
		typical, err := s.Typical(ctx)
		if err != nil {
			return InFlight{}, err
		}
		gaps, err := s.cfg.Store.Gaps(ctx, now.Add(-recentSpan), now+1, maxGaps) // Those of half a second ago would not do: a new one undoes a lease that ran out.
		if err != nil {
			return InFlight{}, err
		}
		out := InFlight{AsOf: now, answersRead: answersRead, consumersSeen: consumers.SeenAt, unseen: lifecycle.UnseenAnswers(gaps), OldestWaiting: map[string]lifecycle.Micros{}, decided: map[lifecycle.MessageKey]decided{}}
		policy := s.cfg.Policy()
		out.Partial, err = s.eachOpen(ctx, consumers, func(o lifecycle.OpenMessage) { out.look(o, consumers, typical, policy) })
		if err != nil {
			return InFlight{}, err
		}
		out.sort()
		return out, nil
	})
}

// look adds the leases on an open message, one for each consumer that has it, with what recovery decides where something is wrong with one, or that it waits.
func (f *InFlight) look(o lifecycle.OpenMessage, consumers Consumers, typical map[string]lifecycle.Typical, policy *dlqtriage.Policy) {
	m := o.Message
	f.relied = append(f.relied, o.Task.Relies(&m)...)
	consumer := func(name string) *lifecycle.ConsumerState { return consumers.Of(m.Key.Stream, name) }
	decider := consumer(m.Judged(o.Task).Consumer)
	for _, beside := range lifecycle.LeasesBeside(o, consumer, typical[typeOf(m)], f.moment()) {
		f.add(beside, o, decider, policy)
	}
	lease, held := lifecycle.LeaseOf(o, decider, typical[typeOf(m)], f.moment())
	switch {
	case held:
		f.add(lease, o, decider, policy)
	case m.Stored != nil && m.Stored.Schedule == "" && lease.State == lifecycle.StatePublished:
		if at := f.OldestWaiting[m.Agent]; !at.Known() || m.Stored.At < at {
			f.OldestWaiting[m.Agent] = m.Stored.At
		}
	}
}

// ReliedRecords are the completion records that open messages rely on ([lifecycle.TaskFacts.Relies]), for who looks whether they are there.
func (s *Service) ReliedRecords(ctx context.Context) ([]lifecycle.CompletionRef, error) {
	held, err := s.InFlight(ctx)
	return held.relied, err
}

// AnswersRead is up to when what workers answered was read; zero where nothing was.
func (f InFlight) AnswersRead() lifecycle.Micros {
	return unlessLongAgo(f.answersRead)
}

// ConsumersSeen is up to when the consumers were looked at; zero where they were not.
func (f InFlight) ConsumersSeen() lifecycle.Micros {
	return unlessLongAgo(f.consumersSeen)
}

func unlessLongAgo(at lifecycle.Micros) lifecycle.Micros {
	if at == longAgo {
		return 0
	}
	return at
}

func (f *InFlight) moment() lifecycle.Moment {
	return lifecycle.Moment{Now: f.AsOf, Read: min(f.answersRead, f.consumersSeen), Unseen: f.unseen}
}

func (f *InFlight) add(l lifecycle.Lease, o lifecycle.OpenMessage, decider *lifecycle.ConsumerState, policy *dlqtriage.Policy) {
	f.Leases = append(f.Leases, l)
	if _, known := f.decided[l.Message]; l.Stale == "" || known {
		return
	}
	held := policy.HeldOf(o.Message, o.Task, decider, f.moment())
	blocked := map[dlqtriage.ActionKind][]dlqtriage.Obstacle{}
	for _, kind := range dlqtriage.HeldKinds() {
		if in := held.Obstacles(kind); len(in) > 0 {
			blocked[kind] = in
		}
	}
	f.decided[l.Message] = decided{held.Recovery, blocked}
}

func typeOf(m lifecycle.MessageFacts) string {
	if m.Stored == nil {
		return ""
	}
	return m.Stored.Type
}

func (f *InFlight) sort() {
	rank := map[lifecycle.StaleKind]int{"": len(lifecycle.StaleKinds())}
	for i, k := range lifecycle.StaleKinds() {
		rank[k] = i
	}
	slices.SortFunc(f.Leases, func(a, b lifecycle.Lease) int {
		return cmp.Or(cmp.Compare(rank[a.Stale], rank[b.Stale]), compareDeadlines(a.Deadline, b.Deadline), a.Message.Compare(b.Message), cmp.Compare(a.Consumer, b.Consumer))
	})
	f.byTask = make(map[string]int, len(f.Leases))
	for i, l := range f.Leases {
		if _, worse := f.byTask[l.TaskID]; !worse {
			f.byTask[l.TaskID] = i
		}
		if l.State.InFlight() {
			f.held++
		}
		if l.Stale != "" {
			f.stale++
		}
	}
}

// compareDeadlines puts what has no known deadline last.
func compareDeadlines(a, b lifecycle.Micros) int {
	if a.Known() != b.Known() {
		if a.Known() {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}
