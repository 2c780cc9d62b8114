package main

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"fleetglass/lifecycle"
	"fleetglass/restarts"
)

// presence notices when another process of the broker answers than before, at the same address. That the connection moves to another server of a
// cluster, or is made again to the same process, is no restart.
type presence struct {
	mu      sync.Mutex
	address string
	server  string // The id that each process of a server makes for itself.
	lost    time.Time
	hear    func(restarts.Return)
}

// follow says who hears of it.
func (p *presence) follow(hear func(restarts.Return)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hear = hear
}

func (p *presence) connected(nc *nats.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address, p.server = nc.ConnectedUrl(), nc.ConnectedServerId()
}

func (p *presence) disconnected(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost.IsZero() {
		p.lost = at
	}
}

// returned takes in that a connection is there again.
func (p *presence) returned(address, server string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	restarted := p.server != "" && address == p.address && server != p.server
	if restarted && p.hear != nil {
		p.hear(restarts.Return{ID: "broker-" + server, Cause: restarts.CauseBroker, From: lifecycle.MicrosOf(p.lost), To: lifecycle.MicrosOf(at)})
	}
	p.address, p.server, p.lost = address, server, time.Time{}
}
