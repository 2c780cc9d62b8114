package lifecycle

import (
	"maps"
	"slices"
)

// Fold turns a batch of events into changed rows. A store uses it inside one transaction:
//
//	f := NewFold()
//	… load the rows of f.Keys(events), give each to f.LoadMessage
//	f.Assign(events)                    // every event now names its task
//	… load the rows of f.Tasks(), give each to f.LoadTask; load f.MissingHeads() likewise
//	… move the stored events of f.Moves() to their new task: before the insert, so that a repeated event meets itself
//	… insert the events; for each one that was not there before: f.Add(event)
//	changes := f.Changes()              // write these, commit
//
// Fold holds no database and no clock, so that every store judges alike.
type Fold struct {
	messages map[MessageKey]*foldMessage
	tasks    map[string]*foldTask
	said     map[MessageKey]string // What the batch's publish lines say about the task of a message: the one that counts.
	line     map[MessageKey]uint64 // Which line that is.
	hinted   map[MessageKey]string // What its dead-letter entries say, which counts while no publish line is known.
	moves    []Move
	tally    Tally // What the batch changes in the rollups so far.
	outdated Tally // That part of it that belongs to outdated tasks.
}

type foldMessage struct {
	facts   MessageFacts
	task    string // The task it belongs to; empty for a new message.
	stored  bool   // A row exists.
	touched bool
}

type foldTask struct {
	facts    TaskFacts
	stored   bool
	touched  bool
	outdated bool // Judged by an older version of the rules; see [Fold.Outdated].
}

// Move says that a message, first seen by a line that named no task, was found to belong to another task than the one made up
// for it. The store moves its events.
type Move struct {
	Key      MessageKey
	From, To string
}

// MessageRow is a message as stores keep it. The facts stay the fold's.
type MessageRow struct {
	Facts  *MessageFacts
	TaskID string // Never empty: the task it is shown under.
	Open   bool   // Something may still happen to it by itself: it is in somebody's hands, due, or nobody delivers it although it is still in the stream.
}

// TaskRow is a task as stores keep it, likewise.
type TaskRow struct {
	Facts   *TaskFacts
	Summary TaskSummary
}

// Changes is what a batch did.
type Changes struct {
	Messages []MessageRow    // Rows to write, sorted by key.
	Tasks    []TaskRow       // Rows to write, sorted by task id.
	Removed  []string        // Tasks that were made up for a message and are empty now, sorted.
	Fallen   []FallenMessage // Messages of these tasks that may have died, or follow one that did, sorted by key.
	Tally    Tally           // To be added to the rollups.
	Outdated Tally           // The part of Tally that belongs to tasks that were said to be outdated.
}

// NewFold returns an empty fold.
func NewFold() *Fold {
	return &Fold{
		messages: map[MessageKey]*foldMessage{}, tasks: map[string]*foldTask{}, said: map[MessageKey]string{}, line: map[MessageKey]uint64{}, hinted: map[MessageKey]string{},
		tally: Tally{}, outdated: Tally{},
	}
}

// Keys lists the messages that events speak of, sorted, each once: the rows to load and lock.
func (f *Fold) Keys(events []Event) []MessageKey {
	keys := make([]MessageKey, 0, len(events))
	for i := range events {
		if k := events[i].Message; !k.IsZero() {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, MessageKey.Compare)
	return slices.Compact(keys)
}

// LoadMessage gives the fold a stored row: a message and the task that it belongs to.
func (f *Fold) LoadMessage(facts MessageFacts, task string) {
	f.messages[facts.Key] = &foldMessage{facts: facts, task: task, stored: true}
}

// Assign fills TaskID of every event: what the message's publish line (or dead-letter entry) says, else its own key (SPEC 1: the
// fallback of the task id). Events about no message keep the task they name.
func (f *Fold) Assign(events []Event) {
	for i := range events {
		e := &events[i]
		switch {
		case e.Message.IsZero() || e.TaskID == "":
		case e.Kind == Published || e.Kind == Repaired:
			f.say(*e)
		case e.Kind == DeadLettered:
			f.hinted[e.Message] = leastText(f.hinted[e.Message], e.TaskID)
		}
	}
	for i := range events {
		e := &events[i]
		if !e.Message.IsZero() {
			e.TaskID = f.taskOf(e.Message)
		}
		f.task(e.TaskID)
	}
	slices.SortFunc(f.moves, func(a, b Move) int { return a.Key.Compare(b.Key) })
}

// say notes which task a publish line names, unless another line of the batch counts.
func (f *Fold) say(e Event) {
	line := publishLine(e)
	switch counts, known := f.line[e.Message]; {
	case !known || line < counts:
		f.said[e.Message], f.line[e.Message] = e.TaskID, line
	case line == counts:
		f.said[e.Message] = leastText(f.said[e.Message], e.TaskID)
	}
}

// taskOf decides which task message k belongs to, and notes a move when that is another one than before.
func (f *Fold) taskOf(k MessageKey) string {
	m := f.messages[k]
	if m == nil {
		return firstText(f.said[k], f.hinted[k], k.String())
	}
	stored, said := m.facts.Stored, f.said[k]
	if stored != nil && (said == "" || f.line[k] >= stored.Line) {
		return m.task
	}
	to := firstText(said, leastText(m.facts.TaskID, f.hinted[k]), m.task)
	if to != m.task && !slices.ContainsFunc(f.moves, func(v Move) bool { return v.Key == k }) {
		f.moves = append(f.moves, Move{Key: k, From: m.task, To: to})
		f.task(m.task)
	}
	return to
}

// Moves lists the messages whose task is another one than when they were stored, sorted by key.
func (f *Fold) Moves() []Move { return f.moves }

func (f *Fold) task(id string) *foldTask {
	t := f.tasks[id]
	if t == nil {
		t = &foldTask{facts: TaskFacts{ID: id}}
		f.tasks[id] = t
	}
	return t
}

// Tasks lists the tasks that the batch touches, sorted: the rows to load and lock after the messages'.
func (f *Fold) Tasks() []string { return slices.Sorted(maps.Keys(f.tasks)) }

// LoadTask gives the fold a stored row. It may come before the fold asks for it.
func (f *Fold) LoadTask(facts TaskFacts) {
	t := f.task(facts.ID)
	t.facts, t.stored = facts, true
}

// MissingHeads lists the messages by which the loaded tasks may be shown and that are not loaded yet, sorted. They are needed to judge
// their tasks.
func (f *Fold) MissingHeads() []MessageKey {
	var out []MessageKey
	for _, t := range f.tasks {
		for _, k := range t.facts.Candidates() {
			if f.messages[k] == nil {
				out = append(out, k)
			}
		}
	}
	slices.SortFunc(out, MessageKey.Compare)
	return out
}

// Add joins one event that was not known before. Call it only after everything is loaded.
func (f *Fold) Add(e Event) {
	t := f.touch(e.TaskID)
	if e.Message.IsZero() {
		t.facts.Join(e)
		return
	}
	m := f.messages[e.Message]
	if m == nil {
		m = &foldMessage{facts: MessageFacts{Key: e.Message}}
		f.messages[e.Message] = m
	}
	if !m.touched && m.stored {
		f.countMessage(m, -1)
	}
	m.touched = true
	if m.task != e.TaskID {
		f.attach(m, t)
	}
	if e.Kind == Published || e.Kind == Repaired || (m.facts.Stored == nil && f.hinted[e.Message] != "") {
		m.facts.TaskID = e.TaskID
	}
	m.facts.Join(e)
}

// touch returns a task that is about to change. What it contributed to the rollups before the batch is taken back.
func (f *Fold) touch(id string) *foldTask {
	t := f.tasks[id]
	if t.stored && !t.touched {
		s, cases := judgeTask(&t.facts, f.head(t))
		f.countTask(t, &s, cases, -1)
	}
	t.touched = true
	return t
}

// attach moves a message from its task, if it has one, to another.
func (f *Fold) attach(m *foldMessage, to *foldTask) {
	if m.task != "" {
		f.touch(m.task).facts.dropMessage(m.facts.Key)
	}
	to.facts.Messages++
	m.task = to.facts.ID
}

// head returns the facts of the message by which t is shown, or nil.
func (f *Fold) head(t *foldTask) *MessageFacts {
	if m := f.messages[t.facts.shown()]; m != nil {
		return &m.facts
	}
	return nil
}

// Changes judges what was touched and returns the rows to write.
func (f *Fold) Changes() Changes {
	messages, tasks := f.touchedMessages(), f.touchedTasks()
	c := Changes{Messages: make([]MessageRow, 0, len(messages)), Tasks: make([]TaskRow, 0, len(tasks))}
	for _, k := range messages {
		c.Messages = append(c.Messages, f.messageRow(f.messages[k]))
	}
	for _, id := range tasks {
		switch t := f.tasks[id]; {
		case !t.facts.empty():
			c.Tasks = append(c.Tasks, f.taskRow(t))
		case t.stored:
			c.Removed = append(c.Removed, id)
		}
	}
	maps.DeleteFunc(f.tally, func(_ Cell, n int64) bool { return n == 0 })
	c.Tally, c.Outdated, c.Fallen = f.tally, f.outdated, f.fallen()
	return c
}

func (f *Fold) touchedMessages() []MessageKey {
	out := make([]MessageKey, 0, len(f.messages))
	for k, m := range f.messages {
		if m.touched {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, MessageKey.Compare)
	return out
}

func (f *Fold) touchedTasks() []string {
	out := make([]string, 0, len(f.tasks))
	for id, t := range f.tasks {
		if t.touched {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// messageRow judges a message, counts it, and tells its task what the task keeps of it.
func (f *Fold) messageRow(m *foldMessage) MessageRow {
	v := f.countMessage(m, 1)
	f.tasks[m.task].facts.keepMessage(&m.facts, v)
	return MessageRow{Facts: &m.facts, TaskID: m.task, Open: v.unsettled(&m.facts) || m.facts.undecidedBeside()}
}

// taskRow judges a task and counts it. Its messages have been judged before.
func (f *Fold) taskRow(t *foldTask) TaskRow {
	s, cases := judgeTask(&t.facts, f.head(t))
	f.countTask(t, &s, cases, 1)
	return TaskRow{Facts: &t.facts, Summary: s}
}

// empty reports whether nothing is known of the task: it was made up for a message that has moved.
func (t *TaskFacts) empty() bool { return t.Messages == 0 && t.FirstAt == 0 }
