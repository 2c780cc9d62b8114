package brokersync

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// t0 is when everything begins; times of the tests count from it.
const t0 = lifecycle.Micros(1_800_000_000_000_000)

func at(d time.Duration) lifecycle.Micros { return t0.Add(d) }

var tasks = lifecycle.StreamID{Name: "TASKS"}

// world is the broker and the store of a scenario.
type world struct {
	rules     Rules
	seen      Observation      // Without consumers and presence.
	look      glance           // What the poll at hand sees of the broker.
	looked    bool             // It looked already,
	slow      bool             // and that some time before it asks for more.
	states    map[string]State // What each replica remembers.
	replica   string           // The one that looks.
	consumers map[string]Consumer
	stored    map[uint64]string // Messages in the stream: subject by sequence.
	storedAt  map[uint64]lifecycle.Micros
	subjects  map[uint64]string
	ttls      map[uint64]time.Duration
	walked    bool // Presence comes page by page.

	facts     map[lifecycle.MessageKey]lifecycle.MessageFacts
	known     map[consumerKey]lifecycle.ConsumerState
	begin     Begin
	deleted   Deletions
	updated   Updates
	events    map[lifecycle.EventID]bool
	drainedTo map[string]lifecycle.Micros // By capture stream, where it is not all.
	absent    map[string]bool             // Capture streams that do not exist.
	begun     lifecycle.Micros            // When the capture streams were created; zero for before everything.
	gaps      []lifecycle.Gap             // In which lines were lost, the latest first.
}

// glance is a broker as it was when a poll looked at it. What comes after is met by the questions of the poll.
type glance struct {
	seen      Observation
	consumers map[string]Consumer
	stored    map[uint64]string
}

func (w *world) glance() glance {
	return glance{seen: w.seen, consumers: maps.Clone(w.consumers), stored: maps.Clone(w.stored)}
}

func newWorld() *world {
	return &world{
		states:    map[string]State{"": NewState(nil)},
		rules:     Rules{Waits: Waits{Refute: 2 * time.Second, Vanish: 2 * time.Second, Orphan: 5 * time.Second}, PageSize: 1000, Earlier: time.Second},
		seen:      Observation{Stream: tasks, Created: at(-time.Hour), FirstSeq: 1},
		consumers: map[string]Consumer{}, stored: map[uint64]string{}, storedAt: map[uint64]lifecycle.Micros{}, ttls: map[uint64]time.Duration{}, subjects: map[uint64]string{},
		facts: map[lifecycle.MessageKey]lifecycle.MessageFacts{}, known: map[consumerKey]lifecycle.ConsumerState{},
		begin: Begin{Stored: true}, deleted: Deletions{From: at(-time.Hour), Last: map[string]lifecycle.Micros{}}, updated: Updates{From: at(-time.Hour)}, events: map[lifecycle.EventID]bool{}, drainedTo: map[string]lifecycle.Micros{}, absent: map[string]bool{},
	}
}

// observe is what the poll at hand saw.
func (w *world) observe(o order, cursor uint64) Observation {
	seen := w.look.seen
	seen.Msgs, seen.ConsumersAt = uint64(len(w.look.stored)), seen.At
	for _, c := range w.look.consumers {
		if c.Pending == all {
			c.Pending = w.after(c)
		}
		if !c.ObservedAt.Known() {
			c.ObservedAt = seen.At
		}
		seen.ConsumersAt = min(seen.ConsumersAt, c.ObservedAt)
		seen.Consumers = append(seen.Consumers, c)
	}
	seen.Consumers = sortedConsumers(seen.Consumers)
	o.shuffle(len(seen.Consumers), func(i, j int) { seen.Consumers[i], seen.Consumers[j] = seen.Consumers[j], seen.Consumers[i] })
	seen.Present = w.presence(cursor)
	seen.Capture = Capture{Acks: w.captureEnd("OBS_ACK"), Advisories: w.captureEnd("OBS_EVT"), Publishes: w.captureEnd("OBS_PUB")}
	if seen.Absent {
		return Observation{Stream: seen.Stream, Absent: true, Removed: seen.Removed, Capture: seen.Capture}
	}
	return seen
}

// after is how many messages that a consumer takes come after the last one that it delivered.
func (w *world) after(c Consumer) (n uint64) {
	for seq, subject := range w.look.stored {
		if c.comesAfter(seq) && lifecycle.MatchesAny(c.Filters, subject) {
			n++
		}
	}
	return n
}

func (w *world) presence(cursor uint64) Presence {
	p := Presence{First: w.look.seen.FirstSeq, Last: w.look.seen.LastSeq, Listed: slices.Sorted(maps.Keys(w.look.stored))}
	if p.From, p.To = p.First, p.Last; !w.walked {
		return p
	}
	p.From = max(cursor, p.First)
	p.Listed = slices.DeleteFunc(p.Listed, func(seq uint64) bool { return seq < p.From })
	if page := max(1, w.rules.PageSize/4); len(p.Listed) > page {
		p.Listed = p.Listed[:page]
		p.To = p.Listed[page-1]
	}
	return p
}

// captureEnd is a stream of which everything is stored up to the time that the scenario says, by default all there is.
func (w *world) captureEnd(name string) CaptureEnd {
	end, limited := w.drainedTo[name]
	if !limited {
		end = w.seen.At.Add(time.Minute)
	}
	return CaptureEnd{Stream: name, Created: w.begun, Missing: w.absent[name], At: end}
}

// answer answers some of the questions, at least one.
func (w *world) answer(q Questions, f *Facts, o order) {
	var todo []func()
	for _, r := range q.Open {
		todo = append(todo, func() { f.Open[r] = w.openMessages(r, o) })
	}
	for _, r := range q.Rows {
		todo = append(todo, func() { f.Rows[r] = w.rows(r) })
	}
	for _, seq := range q.Present {
		todo = append(todo, func() { _, f.Present[seq] = w.stored[seq] })
	}
	for _, subject := range q.Fill {
		todo = append(todo, func() { f.Fill[subject] = w.fill(subject) })
	}
	for _, r := range q.Read {
		todo = append(todo, func() { f.Read[r] = w.read(r) })
	}
	if q.Begin {
		begin := w.begin
		todo = append(todo, func() { f.Begin = &begin })
	}
	if q.Gaps {
		todo = append(todo, func() { f.Gaps = &w.gaps })
	}
	if q.Updated {
		todo = append(todo, func() { f.Updated = &w.updated })
	}
	if q.Deleted {
		todo = append(todo, func() { f.Deleted = &w.deleted })
	}
	o.shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	for _, answer := range todo[:o.some(len(todo))] {
		answer()
	}
}

func (w *world) sorted(stream lifecycle.StreamID, from, to uint64) (out []lifecycle.MessageFacts) {
	for k, m := range w.facts {
		if k.Stream == stream && k.Seq >= from && k.Seq <= to {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b lifecycle.MessageFacts) int { return cmp.Compare(a.Key.Seq, b.Key.Seq) })
	return out
}

func (w *world) openMessages(r OpenRange, o order) (out []lifecycle.OpenMessage) {
	for _, m := range w.sorted(r.Stream, r.From, 1<<62) {
		if task := (lifecycle.TaskFacts{}); openIn(m, task) && len(out) < r.Limit {
			out = append(out, lifecycle.OpenMessage{Message: m, Task: task})
		}
	}
	o.shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (w *world) rows(r RowRange) []lifecycle.MessageFacts {
	rows := w.sorted(w.seen.Stream, r.From, r.To)
	return rows[:min(len(rows), r.Limit)]
}

func (w *world) fill(subject string) (n uint64) {
	for _, s := range w.stored {
		if s == subject {
			n++
		}
	}
	return n
}

func (w *world) read(r ReadRange) Reading {
	out := Reading{Reached: r.To}
	for _, seq := range slices.Sorted(maps.Keys(w.stored)) {
		if seq < r.From || seq > r.To {
			continue
		}
		if len(out.Messages) == r.Limit {
			out.Reached = seq - 1
			break
		}
		key := lifecycle.MessageKey{Stream: w.seen.Stream, Seq: seq}
		e := lifecycle.Event{
			ID: lifecycle.NewEventID(Name, string(lifecycle.Repaired), key.String()), Kind: lifecycle.Repaired, At: w.storedAt[seq], Message: key,
			Detail: lifecycle.Detail{Naming: lifecycle.Naming{Subject: w.stored[seq]}, Publication: lifecycle.Publication{TTL: w.ttls[seq]}},
		}
		out.Messages = append(out.Messages, ReadMessage{Seq: seq, Batch: lifecycle.Batch{Events: []lifecycle.Event{e}}})
	}
	return out
}

// store takes a batch in. No event may come twice.
func (w *world) store(t *testing.T, b lifecycle.Batch) {
	t.Helper()
	for _, e := range b.Events {
		if w.events[e.ID] && len(w.states) == 1 {
			t.Fatalf("said twice: %s", describe(e))
		}
		w.events[e.ID] = true
		w.join(e)
	}
	for _, c := range b.Consumers {
		w.known[consumerKey{c.Stream, c.Name}] = c
	}
	for name, position := range b.Watermarks {
		if !strings.HasSuffix(name, " since") {
			_, _ = fmt.Sscan(position, &w.begin.Position)
		}
	}
}

func (w *world) join(e lifecycle.Event) {
	m := w.facts[e.Message].Clone()
	m.Join(e)
	w.facts[e.Message] = m
}

func (w *world) consumersStored() []lifecycle.ConsumerState {
	return slices.Collect(maps.Values(w.known))
}

// render is what a batch says, in an order of its own.
func (w *world) render(b lifecycle.Batch) string {
	var lines []string
	for _, e := range b.Events {
		lines = append(lines, "  "+describe(e)+"\n")
	}
	for _, g := range b.Gaps {
		lines = append(lines, fmt.Sprintf("  gap %s %d-%d %s..%s\n", g.Source, g.FromSeq, g.ToSeq, offset(g.From), offset(g.To)))
	}
	for _, c := range b.Consumers {
		if c.Gone {
			lines = append(lines, fmt.Sprintf("  consumer %s is gone\n", c.Name))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func offset(m lifecycle.Micros) string { return m.Sub(t0).String() }

func describe(e lifecycle.Event) string {
	s := fmt.Sprintf("%s %d @%s", e.Kind, e.Message.Seq, offset(e.At))
	if e.Message.Stream.Epoch.Known() {
		s = fmt.Sprintf("%s %s @%s", e.Kind, strings.Replace(e.Message.String(), fmt.Sprint(int64(e.Message.Stream.Epoch)), offset(e.Message.Stream.Epoch), 1), offset(e.At))
	}
	if e.Attempt > 0 {
		s += fmt.Sprintf(" n=%d", e.Attempt)
	}
	if e.ConsumerSeq > 0 {
		s += fmt.Sprintf(" cseq=%d", e.ConsumerSeq)
	}
	if e.Detail.Exact {
		s += " exact"
	}
	if e.Detail.Former {
		s += " former"
	}
	if e.Detail.Basis.Known() {
		s += fmt.Sprintf(" basis=%s deadline=%s", offset(e.Detail.Basis), offset(e.Detail.Deadline))
		if e.Detail.AtLatest {
			s += "-or-before"
		}
	}
	if e.Detail.Removal != "" {
		s += fmt.Sprintf(" by=%s", e.Detail.Removal)
	}
	if e.Detail.Undelivered {
		s += " undelivered"
	}
	if len(e.Detail.Beside) > 0 {
		s += " beside=" + strings.Join(e.Detail.Beside, ",")
	}
	if e.Detail.Reason != "" {
		s += fmt.Sprintf(" %q", e.Detail.Reason)
	}
	return s
}

// openIn reports whether a store keeps a message as open, as [lifecycle.MessageRow.Open] says.
func openIn(m lifecycle.MessageFacts, t lifecycle.TaskFacts) bool {
	v := lifecycle.Judge(m, t)
	left := v.State == lifecycle.StateExhausted || v.Rule == "stranded" || v.Rule == "let go after completion"
	return v.State.Open() || (left && !m.VanishedAt.Known())
}
