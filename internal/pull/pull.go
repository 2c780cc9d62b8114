// Package pull asks a durable consumer for messages.
//
// The pulls of the client are not used where anybody may write what is read: they take a message without a body that has a header "Status" for the broker's word, so
// that anybody who may publish could end a pull, or keep a message from its worker. Here only what nobody can answer is the broker's.
package pull

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/leader"
)

// Pull is one request for messages, and what comes of it.
type Pull struct {
	Messages <-chan *nats.Msg // Closed when the pull is filled or over.

	conn   *nats.Conn
	sub    *nats.Subscription
	sent   chan *nats.Msg // As the broker sends it.
	lines  chan *nats.Msg
	ending chan struct{}
	end    sync.Once
	err    error
}

// Request is what the broker reads.
type Request struct {
	Expires  time.Duration `json:"expires"` // The pull ends by itself that long after it was asked for, or a second later where the broker is away.
	Batch    int           `json:"batch"`
	MaxBytes int           `json:"max_bytes,omitempty"` // Optional; default any number.
	Group    string        `json:"group,omitempty"`
	Priority uint8         `json:"priority,omitempty"`
}

// Start asks for messages.
func Start(js jetstream.JetStream, consumer jetstream.Consumer, r Request) (*Pull, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	lines := make(chan *nats.Msg, r.Batch)
	p := &Pull{Messages: lines, lines: lines, conn: js.Conn(), sent: make(chan *nats.Msg, 2*r.Batch+2), ending: make(chan struct{})}
	inbox := p.conn.NewInbox()
	if p.sub, err = p.conn.ChanSubscribe(inbox, p.sent); err != nil {
		return nil, err
	}
	info := consumer.CachedInfo()
	if err := p.conn.PublishRequest(leader.APISubject(js, "CONSUMER.MSG.NEXT."+info.Stream+"."+info.Name), inbox, body); err != nil {
		return nil, errors.Join(err, p.sub.Unsubscribe())
	}
	go func() {
		defer close(p.lines)
		defer p.sub.Unsubscribe() //nolint:errcheck // The connection is closed, or the pull was ended.
		p.err = p.take(r)
	}()
	return p, nil
}

// Err is why the pull ended early. Ask when Messages is closed.
func (p *Pull) Err() error { return p.err }

// End ends the pull. What the broker has sent by then still comes.
func (p *Pull) End() { p.end.Do(func() { close(p.ending) }) }

// take hands on what was sent until the pull is filled or over.
func (p *Pull) take(r Request) error {
	late := time.NewTimer(0)
	defer late.Stop()
	for lines, bytes := 0, 0; lines < r.Batch && (r.MaxBytes == 0 || bytes < r.MaxBytes); {
		late.Reset(r.Expires + time.Second)
		select {
		case m := <-p.sent:
			if m.Reply == "" {
				if over, err := pullOver(m.Header); over || err != nil {
					return err
				}
				continue
			}
			p.lines <- m
			lines, bytes = lines+1, bytes+m.Size()
		case <-late.C: // The broker is away.
			return nil
		case <-p.ending:
			p.rest()
			return nil
		}
	}
	return nil
}

// rest hands on what the broker sent before it knew that nobody waits any more.
func (p *Pull) rest() {
	if p.sub.Unsubscribe() != nil || p.conn.FlushTimeout(time.Second) != nil {
		return // The connection is gone: nobody can answer what was sent.
	}
	for {
		select {
		case m := <-p.sent:
			if m.Reply != "" {
				p.lines <- m
			}
		default:
			return
		}
	}
}

// pullOver reports whether the broker says that a pull is over, and errors where it says that it cannot be served.
func pullOver(status nats.Header) (over bool, err error) {
	said := status.Get("Description")
	switch code := status.Get("Status"); {
	case code == "100":
		return false, nil
	case code == "404", code == "408", strings.Contains(strings.ToLower(said), "exceeds maxbytes"):
		return true, nil
	case code == "503":
		return true, nats.ErrNoResponders
	case strings.EqualFold(said, "Consumer Deleted"):
		return true, jetstream.ErrConsumerDeleted
	default:
		return true, fmt.Errorf("the broker ended the pull: %s %s", code, said)
	}
}
