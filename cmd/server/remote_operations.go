package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"fleetglass/client"
)

type retryCmd struct {
	remote
	Entry  string        `arg:"" help:"Id of the dead letter, as fleetglass dlq prints it."`
	Reason string        `required:"" placeholder:"WHY" help:"Why you retry it, in 3 to 2,000 characters. The audit keeps it."`
	As     string        `enum:"plan,unchanged" default:"plan" help:"What to publish: the message as the plan changes it (plan), or as it was (unchanged)."`
	Key    string        `placeholder:"KEY" help:"Idempotency key of this call: the same key again has no second effect. Without it a new one is made, and printed if the answer is lost."`
	Wait   time.Duration `default:"10s" help:"How long to wait until the message is published; 0s returns at once."`
}

// Run retries one dead letter and waits until its message is on its way.
func (c retryCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	server, err := c.client(l)
	if err != nil {
		return err
	}
	key := cmp.Or(c.Key, rand.Text())
	o, err := server.Act(ctx, c.Entry, client.Action{Action: "retry", Reason: c.Reason, Params: map[string]any{"as": c.As}}, key)
	if err != nil {
		return unsure(err, key)
	}
	if o, err = follow(ctx, server, o, c.Wait); err == nil {
		err = show(ctx, c.remote, l, t, "/operations/"+url.PathEscape(o.ID), nil, func(now client.Operation) [][]string {
			o = now
			rows := [][]string{{"operation", o.ID}, {"status", o.Status}}
			for _, item := range o.Items {
				if item.Why != nil {
					rows = append(rows, []string{"why", *item.Why})
				}
				if item.DueAt != nil && !o.Ended() {
					rows = append(rows, []string{"to be published", until(*item.DueAt, time.Now()) + ", at " + item.DueAt.UTC().Format("15:04:05 UTC")})
				}
			}
			return rows
		})
	}
	if err != nil {
		return fmt.Errorf("the retry was taken as operation %s; how far it is could not be asked: %w", o.ID, err)
	}
	if o.Status == "failed" {
		return fmt.Errorf("operation %s failed", o.ID)
	}
	return nil
}

// unsure adds to an error how to ask again, unless the call was refused or never sent: the server may have taken it, and its answer was lost.
func unsure(err error, key string) error {
	if p, said := errors.AsType[*client.Problem](err); said && p.Status < http.StatusInternalServerError {
		return advised(err)
	}
	if _, unknown := errors.AsType[*net.DNSError](err); unknown || errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return fmt.Errorf("%w (it may have been taken; to ask again for the same one: --key %s)", err, key)
}

// follow asks for an operation until it has ended, or the time is over.
func follow(ctx context.Context, server *client.Client, o client.Operation, patience time.Duration) (client.Operation, error) {
	over := time.After(patience)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !o.Ended() {
		select {
		case <-ctx.Done():
			return o, ctx.Err()
		case <-over:
			return o, nil
		case <-tick.C:
		}
		now, err := server.Operation(ctx, o.ID)
		if err != nil {
			return o, err
		}
		o = now
	}
	return o, nil
}

type operationsCmd struct {
	remote
	Limit int `default:"50" help:"How many at most, up to 200."`
}

// Run lists operations, the newest first.
func (c operationsCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	return show(ctx, c.remote, l, t, "/operations", filterOf(nil, c.Limit, nil), func(p client.Page[client.Operation]) [][]string {
		rows := [][]string{{"OPERATION", "ACTION", "STATUS", "BEGAN", "BY", "SELECTED", "DONE", "BLOCKED", "FAILED", "REASON"}}
		for _, o := range p.Data {
			n := o.Counts
			rows = append(rows, []string{
				o.ID, o.Action, statusOf(o), ago(&o.CreatedAt, p.AsOf), o.Actor, fmt.Sprint(n.Selected), fmt.Sprint(n.Done), fmt.Sprint(n.Blocked), fmt.Sprint(n.Failed), o.Reason,
			})
		}
		return rows
	})
}

// statusOf is the status of an operation, and whether its counts lack what was acted on just now.
func statusOf(o client.Operation) string {
	if o.Counting {
		return o.Status + ", counting"
	}
	return o.Status
}

type cancelCmd struct {
	remote
	ID     string `arg:"" help:"Id of the operation, as fleetglass operations prints it: a retry that waits, or an action on many dead letters that has not ended."`
	Reason string `placeholder:"WHY" help:"Why you cancel it. The audit keeps it."`
}

// Run cancels an operation. It errors where the operation had ended: then nothing is cancelled.
func (c cancelCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	server, err := c.client(l)
	if err != nil {
		return err
	}
	before, err := server.Operation(ctx, c.ID)
	if err != nil {
		return advised(err)
	}
	o, err := server.Cancel(ctx, c.ID, c.Reason, rand.Text())
	switch {
	case err != nil:
		return advised(err)
	case before.Ended(), o.Status != "cancelled":
		return fmt.Errorf("nothing was cancelled: operation %s had ended already (%s). What it did can be taken back with fleetglass undo", o.ID, o.Status)
	}
	return show(ctx, c.remote, l, t, "/operations/"+url.PathEscape(c.ID), nil, func(o client.Operation) [][]string {
		return [][]string{{"operation", o.ID}, {"status", statusOf(o)}}
	})
}

type undoCmd struct {
	remote
	ID     string        `arg:"" help:"Id of the operation, as fleetglass operations prints it: an action on many dead letters that has ended."`
	Reason string        `required:"" placeholder:"WHY" help:"Why you take it back, in 3 to 2,000 characters. The audit keeps it."`
	DryRun bool          `help:"Only count what could be taken back."`
	Key    string        `placeholder:"KEY" help:"Idempotency key of this call: the same key again has no second effect. Without it a new one is made, and printed if the answer is lost."`
	Wait   time.Duration `default:"10s" help:"How long to wait until it has ended; 0s returns at once."`
}

// Run takes an operation back by another one, and waits until that has ended.
func (c undoCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	server, err := c.client(l)
	if err != nil {
		return err
	}
	key := cmp.Or(c.Key, rand.Text())
	o, err := server.ActOnMany(ctx, client.ManyAction{
		Action: client.Action{Action: "reopen", Reason: c.Reason}, Selector: client.ManySelector{Operation: c.ID}, DryRun: c.DryRun,
	}, key)
	if err != nil {
		return unsure(err, key)
	}
	if o, err = follow(ctx, server, o, c.Wait); err == nil {
		err = show(ctx, c.remote, l, t, "/operations/"+url.PathEscape(o.ID), nil, func(now client.Operation) [][]string {
			o = now
			done, n := "taken back", o.Counts.Done
			if c.DryRun {
				done, n = "can be taken back", o.Counts.Eligible
			}
			return [][]string{{"operation", o.ID}, {"status", statusOf(o)}, {done, fmt.Sprint(n)}, {"blocked", fmt.Sprint(o.Counts.Blocked)}, {"failed", fmt.Sprint(o.Counts.Failed)}}
		})
	}
	switch {
	case err != nil:
		return fmt.Errorf("the undo was taken as operation %s; how far it is could not be asked: %w", o.ID, err)
	case o.Ended() && !o.Counting && o.Counts.Done+o.Counts.Eligible == 0:
		return fmt.Errorf("nothing of operation %s can be taken back; the page of operation %s says why", c.ID, o.ID)
	}
	return nil
}
