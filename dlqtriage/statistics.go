package dlqtriage

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"fleetglass/lifecycle"
)

// Sums is how many entries there are of one sort, and what became of them (SPEC 5, "Statistics").
type Sums struct {
	Entries       int64
	AutoResolved  int64 // Resolved, and no person decided.
	HumanRequired int64 // A person decided, or one is asked to: deferred to a person.
	Resolved      int64
	Median        time.Duration // From death to resolution, of those that are resolved; zero where none is.
}

// StatisticsRow is the entries that died in one span, and the messages that were published in it.
type StatisticsRow struct {
	From     lifecycle.Micros
	Messages int64 // Tasks whose first message was stored in the span: what is published again does not count again.
	Deleted  bool  // Entries of the span may have been deleted from the store since: the sums are lower bounds.
	Sums
}

// Rate is the entries for each message; false where no message is known, or not all entries are kept.
func (r StatisticsRow) Rate() (float64, bool) {
	if r.Messages == 0 || r.Deleted {
		return 0, false
	}
	return float64(r.Entries) / float64(r.Messages), true
}

// StatisticsGroup is the entries that have the same values.
type StatisticsGroup struct {
	Values []string // Of the fields that the groups are by.
	Sums
}

// Statistics is what became of entries, by time and by what they are.
type Statistics struct {
	Rows     []StatisticsRow // One for each span, oldest first.
	Total    StatisticsRow
	Category []StatisticsGroup
	Detail   []StatisticsGroup // By category and detail.
	Agent    []StatisticsGroup
	Type     []StatisticsGroup
	Path     []StatisticsGroup
}

// ViaPage is how a person comes in, as decisions say it.
const ViaPage = "page"

// humanRequired reports whether a person had to decide, or has to.
func (f Fate) humanRequired() bool {
	return f.Via == ViaPage || (f.Status == StatusDeferred && !f.Until.Known())
}

// Counter counts fates.
type Counter struct {
	bounds []lifecycle.Micros
	rows   []tally
	total  tally
	groups [5]map[[2]string]*tally
}

// tally is sums of which the median is not taken yet.
type tally struct {
	sums  Sums
	times []time.Duration
}

func (t *tally) add(f Fate) {
	t.sums.Entries++
	human := f.humanRequired()
	if human {
		t.sums.HumanRequired++
	}
	if !f.ResolvedAt.Known() {
		return
	}
	t.sums.Resolved++
	if !human {
		t.sums.AutoResolved++
	}
	t.times = append(t.times, max(0, f.ResolvedAt.Sub(f.FailedAt)))
}

// done takes the median: of an even number the lower one of the middle.
func (t *tally) done() Sums {
	slices.Sort(t.times)
	if n := len(t.times); n > 0 {
		t.sums.Median = t.times[(n-1)/2]
	}
	return t.sums
}

// NewCounter counts in the spans between bounds, which ascend: the beginnings, and the end of the last.
func NewCounter(bounds []lifecycle.Micros) *Counter {
	c := &Counter{bounds: bounds, rows: make([]tally, len(bounds)-1)}
	for i := range c.groups {
		c.groups[i] = map[[2]string]*tally{}
	}
	return c
}

// Add counts an entry that died within the bounds.
func (c *Counter) Add(f Fate) {
	i := sort.Search(len(c.bounds), func(i int) bool { return c.bounds[i] > f.FailedAt }) - 1
	if i < 0 || i >= len(c.rows) {
		return
	}
	c.rows[i].add(f)
	c.total.add(f)
	for g, key := range [5][2]string{{string(f.Category)}, {string(f.Category), f.Detail}, {f.Agent}, {f.Type}, {string(f.Path)}} {
		if c.groups[g][key] == nil {
			c.groups[g][key] = &tally{}
		}
		c.groups[g][key].add(f)
	}
}

// Statistics are what was counted. messages gives the messages of each span.
func (c *Counter) Statistics(messages []int64) Statistics {
	out := Statistics{Rows: make([]StatisticsRow, len(c.rows)), Total: StatisticsRow{From: c.bounds[0], Sums: c.total.done()}}
	for i := range c.rows {
		out.Rows[i] = StatisticsRow{From: c.bounds[i], Messages: messages[i], Sums: c.rows[i].done()}
		out.Total.Messages += messages[i]
	}
	for g, groups := range []*[]StatisticsGroup{&out.Category, &out.Detail, &out.Agent, &out.Type, &out.Path} {
		width := 1
		if g == 1 {
			width = 2
		}
		*groups = grouped(c.groups[g], width)
	}
	return out
}

// DeletedBetween notes the time from which and up to which the store may have deleted entries: from the first message that is known.
func (s *Statistics) DeletedBetween(from, to lifecycle.Micros) {
	for i := range s.Rows {
		r := &s.Rows[i]
		ends := i+1 == len(s.Rows) || s.Rows[i+1].From > from
		r.Deleted = ends && max(r.From, from) < to
		s.Total.Deleted = s.Total.Deleted || r.Deleted
	}
}

// grouped lists groups, the largest first, ties by their values.
func grouped(groups map[[2]string]*tally, width int) []StatisticsGroup {
	out := make([]StatisticsGroup, 0, len(groups))
	for key, t := range groups {
		out = append(out, StatisticsGroup{Values: slices.Clone(key[:width]), Sums: t.done()})
	}
	slices.SortFunc(out, func(a, b StatisticsGroup) int {
		return cmp.Or(cmp.Compare(b.Entries, a.Entries), slices.Compare(a.Values, b.Values))
	})
	return out
}
