package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// Action is what a plan does to one object.
type Action string

// The actions.
const (
	ActionCreate Action = "create" // It is missing.
	ActionUpdate Action = "update" // Fields that Fleetglass needs differ.
	ActionNone   Action = "none"   // Nothing to do; differences from the recommendation are kept.
	ActionBlock  Action = "block"  // It cannot be made right without a person; Problems say why.
)

// Change is the plan for one stream.
type Change struct {
	Stream   string
	Action   Action
	Fields   []FieldChange // What is created or updated.
	Kept     []FieldChange // Where the fleet's own setting differs from the recommendation and is left alone.
	Problems []string      // What a person must decide.

	config map[string]any // The whole configuration to send.
}

// FieldChange is one field of a configuration, by the broker's own name for it. Values are readable text; empty when absent.
type FieldChange struct {
	Field, Old, New string
}

// Plan is the exact difference between a broker and what Fleetglass needs.
type Plan struct {
	Changes     []Change
	Readers     []Reader    // Durables that are to be created.
	Surplus     []Reader    // Durables of another number of shards, which are deleted once those to be created have taken over.
	Advice      []Advice    // On the broker's version, and on consumers of the fleet, which are never touched.
	SelfImport  SelfImport  // Whether publish attempts reach OBS_RAW.
	Permissions []Identity  // Least privilege for each part of Fleetglass.
	streams     Streams     //
	api         *managerAPI //
}

// Advice is a recommendation with the command that follows it.
type Advice struct {
	Object, Why, Command string
}

// SelfImport is the state of the account's import of its own task subjects.
type SelfImport struct {
	Fed     bool   // Publish attempts arrive under obs.raw.>.
	Err     string // Why it could not be told; empty when it could.
	Snippet string // What to add to the account's configuration when Fed is false.
}

// NewPlan reads the broker and computes the difference. It changes nothing. Its probe for the self-import publishes one message that
// no stream stores (see [RawFed]).
func NewPlan(ctx context.Context, js jetstream.JetStream, s Streams) (*Plan, error) {
	if err := s.Contract.Validate(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if s.Shards != 0 && !ValidShards(s.Shards) {
		return nil, fmt.Errorf("plan: %d shards: want a power of two up to %d", s.Shards, MaxShards)
	}
	api := newManagerAPI(js)
	existing, err := api.streams(ctx)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if tasks, found := existing[StreamTasks]; found && s.Replicas == 0 {
		s.Replicas = asInt(tasks["num_replicas"])
	}
	level, err := api.level(ctx)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	s.deduping = level < levelUndeduped
	s.Others = s.Contract.others(existing)
	s = s.withQueues(existing)
	p := &Plan{streams: s, api: api, Permissions: s.Permissions()}
	for _, wanted := range s.Configs() {
		c, err := planStream(wanted, existing, s)
		if err != nil {
			return nil, fmt.Errorf("plan %s: %w", wanted.Name, err)
		}
		p.Changes = append(p.Changes, c)
	}
	for _, name := range s.Others {
		c, err := planOther(name, existing, s)
		if err != nil {
			return nil, fmt.Errorf("plan %s: %w", name, err)
		}
		p.Changes = append(p.Changes, c)
	}
	p.Changes = append(p.Changes, s.planQueues()...)
	if err := p.planReaders(ctx, s, existing); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	workers, err := api.workerAdvice(ctx, existing)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	p.Advice = append(brokerAdvice(level), workers...)
	p.SelfImport = probeSelfImport(ctx, js.Conn(), s.Contract)
	return p, nil
}

// planReaders plans the durables: all, where that is asked for, and else only those that take over from others.
func (p *Plan) planReaders(ctx context.Context, s Streams, existing map[string]map[string]any) (err error) {
	if p.Surplus, err = p.api.surplusReaders(ctx, s, existing); err != nil {
		return err
	}
	var wanted []Reader
	switch {
	case s.Readers:
		wanted = s.readers()
		if s.decides() {
			wanted = append(wanted, RetryReader())
		}
	case len(p.Surplus) > 0:
		wanted = s.captureReaders()
	}
	p.Readers, err = p.api.missingReaders(ctx, wanted, existing)
	return err
}

// Empty reports whether applying the plan would change nothing.
func (p *Plan) Empty() bool {
	return len(p.Readers) == 0 && len(p.Surplus) == 0 && !slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Action == ActionCreate || c.Action == ActionUpdate })
}

// Blocked lists what keeps Fleetglass from working until a person decides.
func (p *Plan) Blocked() []string {
	var out []string
	for _, c := range p.Changes {
		for _, problem := range c.Problems {
			out = append(out, c.Stream+": "+problem)
		}
	}
	return out
}

// Apply carries the plan out. Blocked changes are skipped and returned as an error after the other streams are done. Applying twice is
// harmless.
func (p *Plan) Apply(ctx context.Context) error {
	var blocked []error
	for _, c := range p.Changes {
		var err error
		switch c.Action {
		case ActionCreate:
			err = p.api.createStream(ctx, c.config)
		case ActionUpdate:
			err = p.api.updateStream(ctx, c.config)
		case ActionBlock:
			for _, problem := range c.Problems {
				blocked = append(blocked, fmt.Errorf("%s: %s", c.Stream, problem))
			}
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", c.Action, c.Stream, err)
		}
	}
	if len(blocked) > 0 {
		return errors.Join(blocked...)
	}
	return p.applyReaders(ctx)
}

func (p *Plan) applyReaders(ctx context.Context) error {
	after := map[string]uint64{} // By stream.
	for _, r := range p.Readers {
		if _, asked := after[r.Stream]; !asked {
			read, err := p.api.handedOver(ctx, r)
			if err != nil {
				return err
			}
			after[r.Stream] = read
		}
		if err := p.api.createReader(ctx, r, p.streams.Contract, after[r.Stream]); err != nil {
			return err
		}
	}
	for _, r := range p.Surplus {
		if err := p.api.deleteReader(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// Provision plans and applies in one step.
func Provision(ctx context.Context, js jetstream.JetStream, s Streams) (*Plan, error) {
	p, err := NewPlan(ctx, js, s)
	if err != nil {
		return nil, err
	}
	return p, p.Apply(ctx)
}

// fieldsOf is a configuration in the broker's own field names.
func fieldsOf(cfg jetstream.StreamConfig) (map[string]any, error) {
	b, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	return decodeFields(b)
}
