package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// probeAgent is an agent that no fleet has. Its name is part of the subject of the probe.
const probeAgent = "fleetglass-probe"

const (
	probeTimeout = 5 * time.Second // For the broker to take the probe.
	probeWait    = time.Second     // For its imported copy to arrive after that.
)

// RawFed reports whether this account imports its own task subjects, so that OBS_RAW sees every publish attempt. It publishes one
// message to <prefix>.agents.fleetglass-probe.tasks.probe that expects to be stored by a stream of another name: no stream
// stores it, so it is no task and leaves no line in any capture; its imported copy is awaited on obs.raw.fleetglass-probe.probe.
// The connection needs permission for both subjects. When nothing feeds OBS_RAW, duplicates can only be seen by a
// subscription to the task subjects, which is blind while we are down (best effort).
func RawFed(ctx context.Context, nc *nats.Conn, c Contract) (bool, error) {
	sub, err := nc.SubscribeSync(rawPrefix + "." + probeAgent + ".probe")
	if err != nil {
		return false, fmt.Errorf("probe the self-import: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	probe := nats.NewMsg(c.TaskSubject(probeAgent, "probe"))
	probe.Header.Set("Nats-Expected-Stream", probeAgent)
	if err := nc.PublishMsg(probe); err != nil {
		return false, fmt.Errorf("probe the self-import: %w", err)
	}
	flush, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := nc.FlushWithContext(flush); err != nil {
		return false, fmt.Errorf("probe the self-import: %w", err)
	}
	wait, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	if _, err := sub.NextMsgWithContext(wait); err == nil {
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("probe the self-import: %w", err)
	}
	return false, nil
}

func probeSelfImport(ctx context.Context, nc *nats.Conn, c Contract) SelfImport {
	fed, err := RawFed(ctx, nc, c)
	s := SelfImport{Fed: fed}
	if err != nil {
		s.Err = err.Error()
	}
	if !fed {
		s.Snippet = c.SelfImport("<account>")
	}
	return s
}
