package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A server that is frozen, or cut off from its cluster, keeps its connections open and answers nothing. These say how soon it is left.
const (
	serverPing = 5 * time.Second // Two pings without a pong end the connection: without them it would be minutes.
	pingsUnmet = 2
	askEvery   = 5 * time.Second // How often JetStream is asked, and how long an answer may take.
	asksUnmet  = 3               // A new leader of a cluster takes up to 9 seconds: that is no reason to leave.
)

// roam leaves a server of a cluster whose JetStream does not answer for the next one that was named or that the cluster told of. A server that is cut
// off from the others goes on to answer pings, so the connection alone does not tell.
type roam struct {
	conn  *nats.Conn
	js    jetstream.JetStream
	every time.Duration
	log   *slog.Logger
}

// Run asks again and again until ctx is done.
func (r *roam) Run(ctx context.Context) error {
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	for unmet := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if unmet = r.ask(ctx, unmet); unmet >= asksUnmet {
			unmet = 0
			r.leave()
		}
	}
}

// ask returns how many questions in a row were not answered. Without a connection there is nobody to leave.
func (r *roam) ask(ctx context.Context, unmet int) int {
	ctx, cancel := context.WithTimeout(ctx, r.every)
	defer cancel()
	if _, err := r.js.AccountInfo(ctx); err == nil || !r.conn.IsConnected() || len(r.conn.Servers()) < 2 {
		return 0
	}
	return unmet + 1
}

func (r *roam) leave() {
	r.log.Warn("JetStream does not answer on this server; the connection goes to another", "url", r.conn.ConnectedUrlRedacted())
	if err := r.conn.ForceReconnect(); err != nil {
		r.log.Warn("the connection could not go to another server", "error", err)
	}
}
