package lifecycle

import (
	"fmt"
	"math"
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
// that does not number its attempt counts where none of that message does.
func (t *TaskFacts) ModelTotal() (sum ModelTotal) {
	type attempt struct {
		msgID string
		n     int
	}
	used, numbered := map[attempt]ModelTotal{}, map[string]bool{}
	for r := range t.Credible() {
		if r.InputTokens == 0 && r.OutputTokens == 0 && r.Cost == 0 {
			continue
		}
		at := attempt{r.MsgID, r.Attempt}
		most := used[at]
		used[at] = ModelTotal{InputTokens: max(most.InputTokens, r.InputTokens), OutputTokens: max(most.OutputTokens, r.OutputTokens), Cost: max(most.Cost, r.Cost)}
		numbered[r.MsgID] = numbered[r.MsgID] || r.Attempt > 0
	}
	for at, use := range used {
		if at.n == 0 && numbered[at.msgID] {
			continue
		}
		sum.Attempts++
		sum.InputTokens += use.InputTokens
		sum.OutputTokens += use.OutputTokens
		sum.Cost += use.Cost
	}
	return sum
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
