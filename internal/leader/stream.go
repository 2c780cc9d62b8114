// Package leader reads the messages of a stream as the stream's leader has them.
//
// Where a stream allows direct gets, the client's own GetMsg is answered by any replica and by any mirror in the same account: a mirror inherits the right to answer.
// A replica that is behind denies a message that was just stored, and a mirror still has one that was deleted from the stream. So what is concluded from a message
// that is there, or is not, must come from the leader.
package leader

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stream is a stream of which the leader is asked for messages. It hides the GetMsg of the client, which may ask others.
type Stream struct {
	jetstream.Stream
	js jetstream.JetStream
}

// Find finds a stream by its name. The error is [jetstream.ErrStreamNotFound] where there is none.
func Find(ctx context.Context, js jetstream.JetStream, name string) (*Stream, error) {
	s, err := js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Stream{s, js}, nil
}

// GetMsg is the message with a sequence. The error is [jetstream.ErrMsgNotFound] where the stream does not have it. Of a header block that cannot be read, which the
// broker takes all the same, the lines that can be read count.
func (s *Stream) GetMsg(ctx context.Context, seq uint64) (*jetstream.RawStreamMsg, error) {
	return s.get(ctx, map[string]any{"seq": seq})
}

// NextMsg is the first message at or after a sequence whose subject matches. The error is [jetstream.ErrMsgNotFound] where there is none.
func (s *Stream) NextMsg(ctx context.Context, seq uint64, subject string) (*jetstream.RawStreamMsg, error) {
	return s.get(ctx, map[string]any{"seq": seq, "next_by_subj": subject})
}

// LastMsg is the last message of a subject. The error is [jetstream.ErrMsgNotFound] where there is none.
func (s *Stream) LastMsg(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return s.get(ctx, map[string]any{"last_by_subj": subject})
}

// answer is what the broker says. It keeps the header block apart, as bytes.
type answer struct {
	Error   *jetstream.APIError `json:"error"`
	Message *struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
}

func (s *Stream) get(ctx context.Context, which map[string]any) (*jetstream.RawStreamMsg, error) {
	body, err := json.Marshal(which)
	if err != nil {
		return nil, err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.js.Options().DefaultTimeout)
		defer cancel()
	}
	reply, err := s.js.Conn().RequestWithContext(ctx, APISubject(s.js, "STREAM.MSG.GET."+s.CachedInfo().Config.Name), body)
	if err != nil {
		return nil, err
	}
	var said answer
	if err := json.Unmarshal(reply.Data, &said); err != nil {
		return nil, fmt.Errorf("decode the broker's answer: %w", err)
	}
	switch {
	case said.Error != nil && said.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, jetstream.ErrMsgNotFound
	case said.Error != nil:
		return nil, said.Error
	case said.Message == nil:
		return nil, fmt.Errorf("the broker's answer has no message")
	}
	m := said.Message
	return &jetstream.RawStreamMsg{Subject: m.Subject, Sequence: m.Seq, Header: readableHeaders(m.Header), Data: m.Data, Time: m.Time}, nil
}

// readableHeaders are the lines of a header block that have a name and a value.
func readableHeaders(block []byte) nats.Header {
	out := nats.Header{}
	for line := range strings.SplitSeq(string(block), "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		if ok && name != "" && !strings.ContainsAny(name, " \t") {
			out.Add(name, strings.TrimSpace(value))
		}
	}
	return out
}

// APISubject is the subject of a request to JetStream, in the connection's domain.
func APISubject(js jetstream.JetStream, request string) string {
	opts := js.Options()
	switch {
	case opts.Domain != "":
		return "$JS." + opts.Domain + ".API." + request
	case opts.APIPrefix != "":
		return strings.TrimSuffix(opts.APIPrefix, ".") + "." + request
	}
	return "$JS.API." + request
}
