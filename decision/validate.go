package decision

import (
	"errors"
	"fmt"
)

// Lengths that an index can hold, in bytes.
const (
	maxID      = 500
	maxSubject = 1000
)

// Validate reports what a decision lacks. Stores refuse one that does not pass.
func (d Decision) Validate() error {
	var errs []error
	missing := func(what string, is bool) {
		if is {
			errs = append(errs, fmt.Errorf("decision %q: %s is missing or too long", d.ID, what))
		}
	}
	missing("id", !validID(d.ID))
	missing("subject", d.Subject == "" || len(d.Subject) > maxSubject)
	missing("time", !d.At.Known())
	missing("audit record", len(d.Audit) == 0)
	return errors.Join(append(errs, d.validate(d.Subject))...)
}

// Validate reports what a settlement lacks, for an effect about the given subject.
func (s Settlement) Validate(subject Subject) error {
	var errs []error
	if !s.Status.Settled() {
		errs = append(errs, fmt.Errorf("settle effect %q: %q is no end", s.Effect, s.Status))
	}
	if !s.At.Known() {
		errs = append(errs, fmt.Errorf("settle effect %q: time is missing", s.Effect))
	}
	return errors.Join(append(errs, s.validate(subject))...)
}

func (c Change) validate(subject Subject) error {
	var errs []error
	for _, e := range c.Events {
		if carriesRevision(e.Kind) && About(e.Message) != subject {
			errs = append(errs, fmt.Errorf("event %v of kind %s is about %v, not about %s", e.ID, e.Kind, e.Message, subject))
		}
	}
	if a := c.Action; a != nil && (!validID(a.ID) || a.Subject != subject || len(a.Operation) > maxID) {
		errs = append(errs, fmt.Errorf("action %q is about %q, not about %q, or has no proper id", a.ID, a.Subject, subject))
	}
	for _, e := range c.Effects {
		if !validID(e.ID) || !validID(e.Queue) || len(e.Action) > maxID {
			errs = append(errs, fmt.Errorf("effect %q of queue %q has no proper id or queue", e.ID, e.Queue))
		}
	}
	for _, r := range c.Audit {
		errs = append(errs, r.Validate())
	}
	return errors.Join(errs...)
}

// Validate reports what an audit record lacks.
func (r AuditRecord) Validate() error {
	if !validID(r.ID) || !r.At.Known() || (r.Outcome != Allowed && r.Outcome != Denied) || len(r.Actor) > maxID || len(r.Action) > maxID {
		return fmt.Errorf("audit record %q of %s by %s: id, time or outcome is missing, or a name is too long", r.ID, r.Action, r.Actor)
	}
	return nil
}

func validID(id string) bool { return id != "" && len(id) <= maxID }

// Validate reports what a reservation lacks.
func (r KeyRequest) Validate() error {
	if r.Key == "" || len(r.Key) > maxSubject || r.Fingerprint == "" || !r.Now.Known() || r.Until <= r.Now {
		return fmt.Errorf("reserve key %q: key, fingerprint or times are missing", r.Key)
	}
	return nil
}

// Validate reports what a request for effects lacks.
func (r ClaimRequest) Validate() error {
	if !validID(r.Queue) || r.Holder == "" || !r.Now.Known() || r.Lease <= 0 || r.Limit <= 0 || !r.handedOver() {
		return fmt.Errorf("claim effects of queue %q for %q: queue, holder, time, lease, limit or who handed over is missing", r.Queue, r.Holder)
	}
	return nil
}

// handedOver reports whether the parts of the request that name one effect fit: it was handed over by the holder of a claim, or is to be one that nobody has
// claimed.
func (r ClaimRequest) handedOver() bool {
	if r.Effect == "" {
		return r.After == 0 && !r.Unclaimed
	}
	return (r.After > 0) != r.Unclaimed
}
