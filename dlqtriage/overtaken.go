package dlqtriage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fleetglass/lifecycle"
)

// A retry may wait for hours until it is due. Meanwhile a worker that was thought dead may finish the work, or somebody else may publish it: what was decided
// on is looked at once more before anything is published (ADR 77).

// overtakes reports whether an obstacle that became known after the decision keeps a retry from being published: the work was done, may have been done, or is
// another message's now. What else stands in the way of a decision, the decision has passed.
func (c ObstacleCode) overtakes() bool {
	return slices.Contains([]ObstacleCode{BlockedCompleted, BlockedEffectsUnknown, BlockedSuperseded}, c)
}

// Overtaken says why a retry that is due is not to be published any more: by what became known since it was decided, or because its message is no longer dead.
// It is empty where the retry may be published, also in spite of what its decision took upon itself. It errors when the store does not answer.
func (s *Actions) Overtaken(ctx context.Context, d Delivery, action string) (why string, err error) {
	a, err := s.Action(ctx, action)
	if err != nil {
		return "", err
	}
	k, err := s.examiner.Examine(ctx, a.Entry)
	switch {
	case errors.Is(err, lifecycle.ErrNotFound):
		return s.alive(ctx, d)
	case err != nil:
		return "", err
	}
	if _, published := d.Published(k.Record); published { // Then the newest message of the task is its own.
		return "", nil
	}
	for _, o := range k.overtaking(s.Policy(), s.now()) {
		if !d.inSpiteOf(o.Code, a.Params) {
			return o.Why + nothingPublished, nil
		}
	}
	return "", nil
}

// nothingPublished ends the sentence of why a retry was given up when it was due.
const nothingPublished = " That became known after the retry was asked for, so nothing was published."

// alive says how a message is that has no entry any more.
func (s *Actions) alive(ctx context.Context, d Delivery) (string, error) {
	key, err := lifecycle.ParseMessageKey(d.Of)
	if err != nil {
		return "", fmt.Errorf("read retry: %w", err)
	}
	r, err := s.Tasks.Task(ctx, d.TaskID)
	if err != nil && !errors.Is(err, lifecycle.ErrNotFound) {
		return "", fmt.Errorf("read task: %w", err)
	}
	if !slices.ContainsFunc(r.Messages, func(m lifecycle.MessageFacts) bool { return m.Key == key }) {
		return "", nil // Its task was deleted from the store: nothing is known that speaks against the retry.
	}
	return fmt.Sprintf("Its message is no longer dead: its task is %s.", r.Summary.State) + nothingPublished, nil
}

// overtaking are the obstacles that keep a retry from being published which was decided already.
func (k *Known) overtaking(p *Policy, now lifecycle.Micros) (out []Obstacle) {
	for _, o := range p.PlanFor(k.Case, now).Blocked {
		if o.Code.overtakes() {
			out = append(out, o)
		}
	}
	return out
}

// inSpiteOf reports whether the decision took an obstacle upon itself. One that is older than the list of those took all of them where it was forced.
func (d Delivery) inSpiteOf(c ObstacleCode, p Params) bool {
	if d.InSpiteOf == nil {
		return p.Force
	}
	return slices.Contains(d.InSpiteOf, c)
}
