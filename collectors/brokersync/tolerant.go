package brokersync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
)

// tolerant is a stream of which every message can be read. The client refuses an answer with a header block that it cannot read, and the
// broker takes any block; without this, one such message would fail every poll. It is asked for again in a form that keeps the block
// apart, and the lines of the block that can be read count.
type tolerant struct {
	jetstream.Stream
	js jetstream.JetStream
}

// findStream finds a stream of which every message can be read.
func findStream(ctx context.Context, js jetstream.JetStream, name string) (jetstream.Stream, error) {
	s, err := js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	return tolerant{s, js}, nil
}

// GetMsg implements [jetstream.Stream]. The only option that it knows is [jetstream.WithGetMsgSubject] with ">": the next message.
func (t tolerant) GetMsg(ctx context.Context, seq uint64, opts ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	m, err := t.Stream.GetMsg(ctx, seq, opts...)
	if err == nil || isGone(err) || ctx.Err() != nil || saidByBroker(err) {
		return m, err
	}
	again, secondErr := t.getApart(ctx, seq, len(opts) > 0)
	if secondErr != nil && !isGone(secondErr) {
		return nil, err
	}
	return again, secondErr
}

// saidByBroker reports whether the broker answered with an error, or did not answer: asking in another form helps neither.
func saidByBroker(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrConnectionClosed)
}

// apart is the broker's answer with the header block apart from the rest.
type apart struct {
	Error   *jetstream.APIError `json:"error"`
	Message *struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
}

func (t tolerant) getApart(ctx context.Context, seq uint64, next bool) (*jetstream.RawStreamMsg, error) {
	request := map[string]any{"seq": seq}
	if next {
		request["next_by_subj"] = ">"
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	name := t.CachedInfo().Config.Name
	reply, err := t.js.Conn().RequestWithContext(ctx, apiPrefix(t.js)+"STREAM.MSG.GET."+name, body)
	if err != nil {
		return nil, err
	}
	var answer apart
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return nil, fmt.Errorf("decode message %d: %w", seq, err)
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, jetstream.ErrMsgNotFound
	case answer.Error != nil:
		return nil, answer.Error
	case answer.Message == nil:
		return nil, fmt.Errorf("decode message %d: the answer has none", seq)
	}
	return t.raw(answer), nil
}

// raw is the message as the client gives those that it can read: with the headers that a direct get adds, where the stream has that.
func (t tolerant) raw(a apart) *jetstream.RawStreamMsg {
	m := a.Message
	header := readableHeaders(m.Header)
	if cfg := t.CachedInfo().Config; cfg.AllowDirect {
		header.Add(fleet.HeaderNatsStream, cfg.Name)
		header.Add(fleet.HeaderNatsSubject, m.Subject)
		header.Add(fleet.HeaderNatsSequence, strconv.FormatUint(m.Seq, 10))
		header.Add(fleet.HeaderNatsTimeStamp, m.Time.UTC().Format(time.RFC3339Nano))
	}
	return &jetstream.RawStreamMsg{Subject: m.Subject, Sequence: m.Seq, Header: header, Data: m.Data, Time: m.Time}
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

// apiPrefix begins the subjects of the broker's API, in the connection's domain.
func apiPrefix(js jetstream.JetStream) string {
	opts := js.Options()
	switch {
	case opts.Domain != "":
		return "$JS." + opts.Domain + ".API."
	case opts.APIPrefix != "":
		return strings.TrimSuffix(opts.APIPrefix, ".") + "."
	}
	return "$JS.API."
}
