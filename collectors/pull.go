package collectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/leader"
)

// pull is one request for lines, and what comes of it. The pulls of the client are not used: they take a line without a body that has a header
// "Status" for the broker's word, so that anybody who may publish could end every pull for good. Here only what nobody can answer is the broker's.
type pull struct {
	lines chan *nats.Msg // Closed when the pull is filled or over.
	err   error          // Why it ended early; valid when lines is closed.
}

// pullRequest is what the broker reads.
type pullRequest struct {
	Expires  time.Duration `json:"expires"`
	Batch    int           `json:"batch"`
	MaxBytes int           `json:"max_bytes"`
	Group    string        `json:"group,omitempty"`
	Priority uint8         `json:"priority,omitempty"`
}

// startPull asks for lines of a durable. It ends by itself, pullWait after it was asked for at most.
func startPull(js jetstream.JetStream, consumer jetstream.Consumer, r pullRequest) (*pull, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	sent := make(chan *nats.Msg, 2*r.Batch)
	conn, inbox := js.Conn(), js.Conn().NewInbox()
	sub, err := conn.ChanSubscribe(inbox, sent)
	if err != nil {
		return nil, err
	}
	info := consumer.CachedInfo()
	if err := conn.PublishRequest(leader.APISubject(js, "CONSUMER.MSG.NEXT."+info.Stream+"."+info.Name), inbox, body); err != nil {
		return nil, errors.Join(err, sub.Unsubscribe())
	}
	p := &pull{lines: make(chan *nats.Msg, r.Batch)}
	go func() {
		defer close(p.lines)
		defer sub.Unsubscribe() //nolint:errcheck // The connection is closed.
		p.err = p.take(sent, r)
	}()
	return p, nil
}

// take hands on what was sent until the pull is filled or over.
func (p *pull) take(sent <-chan *nats.Msg, r pullRequest) error {
	late := time.NewTimer(0)
	defer late.Stop()
	for lines, bytes := 0, 0; lines < r.Batch && bytes < r.MaxBytes; {
		late.Reset(r.Expires + time.Second)
		select {
		case m := <-sent:
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
		}
	}
	return nil
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
