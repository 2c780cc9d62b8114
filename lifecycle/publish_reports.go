package lifecycle

import "slices"

// Whom the stream answers "duplicate" alone knows it for certain, and may report it. Such a report counts as a publish that the stream caught where it comes from
// the publisher of a stored message of that id, as its headers name it, or from the agent that the message is for, and fits the time in which that was caught. One
// that capture saw too is no further one: of what was seen and what was reported the more counts.

// maxDuplicatesSaid is how many duplicate publishes are kept that one agent reports of one message id.
const maxDuplicatesSaid = 64

// saidDuplicate notes that a publisher was told so.
func (r *ReportFacts) saidDuplicate(at Micros) {
	if i, found := slices.BinarySearch(r.PublishDuplicates, at); !found {
		r.PublishDuplicates = slices.Insert(slices.Clip(r.PublishDuplicates), i, at)
		r.PublishDuplicates = r.PublishDuplicates[:min(len(r.PublishDuplicates), maxDuplicatesSaid)]
	}
}

// ReportedCaught are the publishes under a message id of which reports say that the stream answered "duplicate", the earliest first. What somebody else repeats in
// the name of an agent within moments is the same.
func (t *TaskFacts) ReportedCaught(id string) (out []Micros) {
	p := t.Publishes[id]
	if p == nil || !p.known() {
		return nil
	}
	for _, own := range []bool{true, false} {
		for i := range t.Reports {
			r := &t.Reports[i]
			if (r.By == "") != own || !t.tellsOfPublish(r, id) {
				continue
			}
			for _, at := range r.PublishDuplicates {
				again := slices.ContainsFunc(out, func(o Micros) bool { return at == o || (!own && near(at, o)) })
				if !again && at >= p.StoredAt.Add(-bindingSlack) && (!p.Until.Known() || at <= p.Until.Add(bindingSlack)) {
					out = append(out, at)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// tellsOfPublish reports whether a report is about publishes of a message id and comes from who may know: its publisher, or whom it is for.
func (t *TaskFacts) tellsOfPublish(r *ReportFacts, id string) bool {
	if r.Agent == "" || (r.MsgID != id && (r.MsgID != "" || len(t.Publishes) > 1)) {
		return false
	}
	if len(t.Copies) == 0 {
		return r.Agent == t.Agent
	}
	return slices.ContainsFunc(t.Copies, func(c DeliveryCopy) bool {
		return c.MsgID == id && (r.Agent == c.Agent || r.Agent == c.Publisher)
	})
}

// onlyReported are the publishes under a message id that the stream caught by reports alone: more are reported than were seen.
func (t *TaskFacts) onlyReported(id string) []Micros {
	said := t.ReportedCaught(id)
	return said[min(len(t.Publishes[id].Caught()), len(said)):]
}
