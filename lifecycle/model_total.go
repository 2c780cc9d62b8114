package lifecycle

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// ModelTotal is what agents reported to have used of language models for a task: the sum over its attempts. Zero is "not reported", never "nothing": a report
// cannot say that it cost nothing.
type ModelTotal struct {
	Attempts     int   // Of which something was reported.
	InputTokens  int64 // Zero where no report names any; likewise below.
	OutputTokens int64
	Cost         int64 // In millionths of a USD, so that sums are exact.
}

// CostUSD is the cost in USD; zero where none was reported.
func (m ModelTotal) CostUSD() float64 { return float64(m.Cost) / microUSD }

// microUSD are the parts of a USD in which costs are added.
const microUSD = 1e6

// maxModelUse bounds what one attempt is believed to have used of anything: a million USD, a million million tokens. The sum over all attempts that are kept
// is far from the end of its numbers.
const maxModelUse = 1_000_000_000_000

// costOf is a reported cost in millionths of a USD. What is more than nothing is at least one of them.
func costOf(usd float64) int64 {
	if !(usd > 0) { // Also what is no number.
		return 0
	}
	return max(1, int64(math.Round(min(usd*microUSD, maxModelUse))))
}

// joinUse keeps the most that was said of an attempt: an agent that reports more than once says its running total.
func (r *ReportFacts) joinUse(u ModelUse) {
	r.InputTokens = max(r.InputTokens, min(u.InputTokens, maxModelUse))
	r.OutputTokens = max(r.OutputTokens, min(u.OutputTokens, maxModelUse))
	r.Cost = max(r.Cost, costOf(u.CostUSD))
}

// Most is the use of one attempt of which two reports tell: the larger of each number, and the model that the later report o names.
func (u ModelUse) Most(o ModelUse) ModelUse {
	return ModelUse{
		Model: firstText(o.Model, u.Model), InputTokens: max(u.InputTokens, o.InputTokens), OutputTokens: max(u.OutputTokens, o.OutputTokens),
		CostUSD: max(u.CostUSD, o.CostUSD),
	}
}

// ModelTotal adds what was reported of the task's attempts. Of one attempt of which several speak, such as the agent and a relay, the most counts once. A report
// that does not name its message or its attempt counts as a further one only where it cannot be about an attempt that is counted already.
func (t *TaskFacts) ModelTotal() (sum ModelTotal) {
	type use struct {
		of *ReportFacts
		ModelTotal
	}
	var used []*use
	for _, r := range t.mostExactFirst() {
		if r.InputTokens == 0 && r.OutputTokens == 0 && r.Cost == 0 || !t.MayHaveHad(r.Agent, r.MsgID) {
			continue
		}
		if t.unknownID(r.MsgID) {
			unnamed := *r
			unnamed.MsgID, r = "", &unnamed
		}
		same := slices.DeleteFunc(slices.Clone(used), func(u *use) bool { return !r.mayBe(u.of) || t.ofTwoWorkers(r, u.of) })
		switch {
		case len(same) == 0:
			used = append(used, &use{r, ModelTotal{1, r.InputTokens, r.OutputTokens, r.Cost}})
		case len(same) == 1:
			u := same[0]
			u.InputTokens, u.OutputTokens, u.Cost = max(u.InputTokens, r.InputTokens), max(u.OutputTokens, r.OutputTokens), max(u.Cost, r.Cost)
		}
	}
	for _, u := range used {
		sum.Attempts++
		sum.InputTokens += u.InputTokens
		sum.OutputTokens += u.OutputTokens
		sum.Cost += u.Cost
	}
	return sum
}

// ofTwoWorkers reports whether two reports are about attempts of different workers, each of whose consumers got the messages.
func (t *TaskFacts) ofTwoWorkers(a, b *ReportFacts) bool {
	return t.several() && a.Agent != b.Agent && a.Agent != "" && b.Agent != ""
}

// setCost narrows by what agents reported that a task cost. A number alone is that number.
func setCost(f *Filter, t QueryTerm, _ time.Time) error {
	usd, err := strconv.ParseFloat(t.Value, 64)
	if err != nil || !(usd >= 0) || usd > maxModelUse/microUSD {
		return fmt.Errorf("%q is not an amount in USD; write cost:>0.5", t.Value)
	}
	op := t.Op
	switch {
	case op == "" && t.Not:
		return fmt.Errorf("cannot exclude one amount with a minus; write cost:<%s or cost:>%s", t.Value, t.Value)
	case t.Not:
		op = opposite(op)
	}
	return f.Cost.narrow(op, int64(math.Round(usd*microUSD)))
}

func usdText(micros int64) string { return strconv.FormatFloat(float64(micros)/microUSD, 'f', -1, 64) }
