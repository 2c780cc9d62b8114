package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

var filterFields = []FilterField{
	{
		Name: "state", Counter: true, set: setState,
		grammar: GrammarField{About: "where the newest message is in its life", Example: "state:failed", Values: texts(States())},
		values:  func(f Filter) []string { return texts(f.States) },
		not:     func(f Filter) []string { return texts(f.Not.States) },
	},
	plain("agent", "", "whose queue it is in", "agent:marketing", func(f *Filter) (is, not *[]string) { return &f.Agents, &f.Not.Agents }).counted(),
	plain("type", "type", "type of the task", "type:content_creation", func(f *Filter) (is, not *[]string) { return &f.Types, &f.Not.Types }),
	plain("publisher", "", "who published one of its messages, by its own word", "publisher:ceo", func(f *Filter) (is, not *[]string) { return &f.Publishers, &f.Not.Publishers }),
	plain("stream", "", "stream of the newest message", "stream:TASKS", func(f *Filter) (is, not *[]string) { return &f.Streams, &f.Not.Streams }),
	plain("category", "category", "category of the dead-letter entry", "category:transient", func(f *Filter) (is, not *[]string) { return &f.Categories, &f.Not.Categories }),
	plain("id", "", "task id, or its beginning", "id:blog-post-*", func(f *Filter) (is, not *[]string) { return &f.IDs, &f.Not.IDs }),
	messageField,
	{
		Name: "anomaly", set: setAnomaly,
		grammar: GrammarField{About: "what is surprising about it", Example: "anomaly:late_ack", Values: texts(AnomalyCodes())},
		values:  func(f Filter) []string { return texts(f.Anomalies) },
		not:     func(f Filter) []string { return texts(f.Not.Anomalies) },
	},
	{
		Name: "has", set: setHas,
		grammar: GrammarField{About: "publishes that the stream caught as duplicates", Example: "has:duplicate", Values: []string{hasDuplicate}},
		values:  func(f Filter) []string { return hasValues(f.Duplicates) },
		not:     func(f Filter) []string { return hasValues(f.Not.Duplicates) },
	},
	{
		Name: "layer", set: setLayer,
		grammar: GrammarField{About: "where its duplicates ended", Example: "layer:execution", Values: texts(Layers())},
		values:  func(f Filter) []string { return texts(f.Layers) },
		not:     func(f Filter) []string { return texts(f.Not.Layers) },
	},
	{
		Name: "attempt", set: setAttempt,
		grammar: GrammarField{About: "number of the current or last attempt", Example: "attempt:>1", Compares: true},
		bounds:  func(f Filter) (Bounds, func(int64) string) { return f.Attempt, numberText },
	},
	{
		Name: "duration", set: setRan,
		grammar: GrammarField{About: "run time: how long workers had the newest message", Example: "duration:>30s", Compares: true},
		bounds:  func(f Filter) (Bounds, func(int64) string) { return f.Ran.Bounds, spanText },
	},
	{
		Name: "cost", set: setCost,
		grammar: GrammarField{About: "cost in USD, over all attempts, as agents reported it", Example: "cost:>0.5", Compares: true},
		bounds:  func(f Filter) (Bounds, func(int64) string) { return f.Cost, usdText },
	},
	{
		Name: "published", set: setPublished,
		grammar: GrammarField{About: "age of the newest message, or of what a publisher published, or the time at which that was", Example: "published:<2h", Compares: true},
		bounds:  func(f Filter) (Bounds, func(int64) string) { return f.Published, instantOf },
	},
	{Name: "q"}, // Words, and what has no parameter of its own.
	instant("from", "last event at or after", "from:24h", func(f *Filter) *Micros { return &f.From }),
	instant("to", "last event before", "to:2026-01-31", func(f *Filter) *Micros { return &f.To }),
	{
		Name: "sort", Counter: true, set: setSort, values: sortValues,
		grammar: GrammarField{About: "order of the list", Example: "sort:-published", Once: true, Values: texts(Sorts())},
	},
}

// messageField finds tasks by the place of a message in its stream, which needs no name in the search box: TASKS:255.
var messageField = FilterField{
	Name: "message", set: setMessage,
	grammar: GrammarField{About: "a message by stream and sequence", Example: "message:TASKS:255"},
	not:     func(f Filter) []string { return f.Not.Messages },
}

// counted is a field for which counters can answer.
func (field FilterField) counted() FilterField {
	field.Counter = true
	return field
}

// plain is a field of alternatives, each any text.
func plain(name, column, about, example string, of func(*Filter) (is, not *[]string)) FilterField {
	return FilterField{
		Name: name, Column: column, grammar: GrammarField{About: about, Example: example},
		set: func(f *Filter, t QueryTerm, _ time.Time) error {
			list, not := of(f)
			if t.Not {
				list = not
			}
			*list = append(*list, t.Value)
			return nil
		},
		values: func(f Filter) []string { is, _ := of(&f); return *is },
		not:    func(f Filter) []string { _, not := of(&f); return *not },
	}
}

// instant is a field of one time; the last one given counts.
func instant(name, about, example string, of func(*Filter) *Micros) FilterField {
	return FilterField{
		Name: name, grammar: GrammarField{About: about, Example: example, Once: true},
		set: func(f *Filter, t QueryTerm, now time.Time) (err error) {
			*of(f), err = parseInstant(t.Value, now)
			return err
		},
		values: func(f Filter) []string {
			if at := *of(&f); at.Known() {
				return []string{instantOf(int64(at))}
			}
			return nil
		},
	}
}

func setState(f *Filter, t QueryTerm, _ time.Time) error {
	list := &f.States
	if t.Not {
		list = &f.Not.States
	}
	value := asChoice(t.Value, texts(States()))
	*list = append(*list, State(value))
	return CheckChoice(value, "a state", texts(States()))
}

func setAnomaly(f *Filter, t QueryTerm, _ time.Time) error {
	list := &f.Anomalies
	if t.Not {
		list = &f.Not.Anomalies
	}
	value := asChoice(t.Value, texts(AnomalyCodes()))
	*list = append(*list, AnomalyCode(value))
	return CheckChoice(value, "an anomaly", texts(AnomalyCodes()))
}

func setLayer(f *Filter, t QueryTerm, _ time.Time) error {
	list := &f.Layers
	if t.Not {
		list = &f.Not.Layers
	}
	*list = append(*list, Layer(t.Value))
	return CheckChoice(t.Value, "a layer", texts(Layers()))
}

func setMessage(f *Filter, t QueryTerm, _ time.Time) error {
	list := &f.Messages
	if t.Not {
		list = &f.Not.Messages
	}
	*list = append(*list, t.Value)
	return checkMessage(t.Value)
}

const hasDuplicate = "duplicate"

func setHas(f *Filter, t QueryTerm, _ time.Time) error {
	if t.Value != hasDuplicate {
		return fmt.Errorf("%q is not a value of has; write has:duplicate", t.Value)
	}
	f.Duplicates, f.Not.Duplicates = f.Duplicates || !t.Not, f.Not.Duplicates || t.Not
	return nil
}

func hasValues(is bool) []string {
	if is {
		return []string{hasDuplicate}
	}
	return nil
}

// Sorts lists the orders.
func Sorts() []Sort {
	return []Sort{SortLastEventDesc, SortLastEvent, SortPublishedDesc, SortPublished, SortCostDesc, SortCost}
}

var errSort = errors.New("is not an order; choose last_event, -last_event, published, -published, cost or -cost")

func setSort(f *Filter, t QueryTerm, _ time.Time) error {
	if !slices.Contains(Sorts(), Sort(t.Value)) {
		return fmt.Errorf("%q %w", t.Value, errSort)
	}
	f.Sort = Sort(t.Value)
	return nil
}

func sortValues(f Filter) []string {
	if f.Sort == "" || f.Sort == SortLastEventDesc {
		return nil
	}
	return []string{string(f.Sort)}
}
