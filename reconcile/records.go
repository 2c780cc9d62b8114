package reconcile

import (
	"context"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// recordCheck looks for records that must still exist.
type recordCheck struct {
	job       *job
	off       bool          // Nothing is looked for, or not any more.
	kept      time.Duration // How long records are kept that state no end, where keptKnown; zero: for ever.
	keptKnown bool
	why       string // Why records are not looked for any more, or not all.
	asked     int64
	elsewhere int64 // Records of sources that are not configured now.
	endless   int64 // Records of which it is not known how long they are kept.
}

func (c *recordCheck) begin(ctx context.Context, j *job) {
	c.job = j
	if j.cfg.Records == nil {
		c.off, c.why = true, "No source of records is configured."
		return
	}
	if j.cfg.RecordsKept != nil {
		c.kept, c.keptKnown = j.cfg.RecordsKept(ctx)
	}
}

// gone says for each of the records whether it must exist and does not; nil stands for no record.
func (c *recordCheck) gone(ctx context.Context, seen []*lifecycle.CompletionRef) ([]bool, error) {
	out := make([]bool, len(seen))
	var refs []lifecycle.RecordRef
	var which []int
	for i, ref := range seen {
		if ref == nil || !c.due(ref) {
			continue
		}
		if c.asked+int64(len(refs)) >= int64(c.job.cfg.RecordLimit) {
			c.why = fmt.Sprintf("Only the first %d records were looked for.", c.job.cfg.RecordLimit)
			break
		}
		refs, which = append(refs, ref.RecordRef), append(which, i)
	}
	if len(refs) == 0 {
		return out, nil
	}
	answers, err := c.job.cfg.Records(ctx, refs)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		c.why = fmt.Sprintf("The source of records did not answer: %v.", err)
		c.off = true
		return out, nil
	}
	for n, a := range answers {
		switch a {
		case lifecycle.RecordNotAsked:
			c.elsewhere++
		default:
			c.asked++
			out[which[n]] = a == lifecycle.RecordGone
		}
	}
	return out, nil
}

// due reports whether a record must still exist: its own end and that of its bucket lie ahead, with some room.
func (c *recordCheck) due(ref *lifecycle.CompletionRef) bool {
	if c.off {
		return false
	}
	end := ref.End(c.kept)
	if !end.Known() {
		if c.keptKnown && c.kept == 0 {
			return true
		}
		c.endless++
		return false
	}
	return end > c.job.asOf.Add(max(c.job.cfg.Grace, recordSlack))
}

// recordSlack is how much earlier than stated a record may go: clocks differ.
const recordSlack = 5 * time.Second

func (c *recordCheck) result() RecordCheck {
	r := RecordCheck{Checked: c.asked > 0 || !c.off, Asked: c.asked, Why: c.why}
	if c.elsewhere > 0 && r.Why == "" {
		r.Why = fmt.Sprintf("%d records came from a source that is not configured now.", c.elsewhere)
	}
	if c.endless > 0 && r.Why == "" {
		r.Why = fmt.Sprintf("Of %d records it is not known how long they are kept.", c.endless)
	}
	return r
}
