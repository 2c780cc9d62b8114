package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
)

type provisionCmd struct {
	Apply       bool `help:"Make the changes. Without it they are only shown."`
	Permissions bool `help:"Also print the least permissions that each part of Fleetglass needs."`

	PermissionsOf []string `name:"permissions-of" placeholder:"IDENTITY" help:"Print one user of the broker that may do what these identities may, such as observer,retry, and nothing else; or the user of one agent, such as agent:cto, or of the operator."`
	NSC           bool     `name:"nsc" help:"Print that user as commands of nsc, for a broker whose accounts are JWTs."`
}

// Validate refuses a form of nothing.
func (c provisionCmd) Validate() error {
	if c.NSC && len(c.PermissionsOf) == 0 {
		return errors.New("--nsc says how to print the user of --permissions-of: give both")
	}
	return nil
}

// Run shows the difference between the broker and what Fleetglass needs, and removes it when told to.
func (c provisionCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	if l.cli.Embedded() {
		return errors.New("the embedded broker is set up at every start; give --nats-url for the broker to look at")
	}
	nc, err := connect(l.cli.Config, nil, nil)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := newJetStream(nc, l.cli.NATSDomain)
	if err != nil {
		return err
	}
	wanted := streams(l.cli.Config)
	wanted.Readers = true
	plan, err := fleet.NewPlan(ctx, js, wanted)
	if err != nil {
		return unanswered(err)
	}
	if len(c.PermissionsOf) > 0 {
		user, err := plan.JointPermissions(c.PermissionsOf)
		if err != nil {
			return err
		}
		text := user.UserText()
		if c.NSC {
			text = user.CommandText()
		}
		_, err = fmt.Fprint(t.out, text)
		return err
	}
	text := plan.String()
	if c.Permissions {
		text += "\n" + plan.PermissionsText()
	}
	if _, err := fmt.Fprint(t.out, text); err != nil {
		return err
	}
	switch {
	case plan.Empty() && len(plan.Blocked()) == 0:
		return nil
	case !c.Apply:
		_, err := fmt.Fprintln(t.out, "nothing was changed; run it again with --apply to make these changes")
		return err
	}
	if err := plan.Apply(ctx); err != nil {
		return unanswered(err)
	}
	_, err = fmt.Fprintln(t.out, "applied")
	return err
}

// noRoom are the codes by which a broker refuses a stream for want of room: of the account, of its servers, of this server.
var noRoom = []jetstream.ErrorCode{10002, 10023, 10047}

// unanswered adds to what the broker refused, or did not answer, why that may be: whoever may not ask gets no answer.
func unanswered(err error) error {
	if refused, ok := errors.AsType[*jetstream.APIError](err); ok && slices.Contains(noRoom, refused.ErrorCode) {
		return fmt.Errorf("%w: the capture streams reserve their max_bytes: raise max_file_store of the server, or the limit of the account, then run it again", err)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: the broker did not answer; perhaps this user may not ask: provision needs the permissions of operator, which --permissions prints", err)
}

// streams says how the streams of the configured fleet are to be set up.
func streams(cfg Config) fleet.Streams {
	s := fleet.Streams{Contract: contract(cfg), DLQAgents: cfg.DLQPerAgent, Shards: cfg.CaptureShards, By: cfg.durables()}
	if cfg.HeadersOnly {
		s.Bodies = fleet.HeadersOnly
	}
	return s
}

func contract(cfg Config) fleet.Contract {
	c := fleet.NewContract(cfg.Prefix)
	c.Domain, c.Workers = cfg.NATSDomain, cfg.WorkerConsumers
	return c
}
