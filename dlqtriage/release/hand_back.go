package release

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/internal/leader"
)

const (
	answerTimeout = 5 * time.Second
	// beforeDeadline is how long before the deadline of an attempt nothing is sent any more where a later delivery of its consumer could be the next attempt.
	beforeDeadline = 250 * time.Millisecond
)

// handBack sends the negative acknowledgement of the attempt, unless it was sent before. why says why nothing was sent; it is empty where it was.
func (r *Relay) handBack(ctx context.Context, c decision.Claimed, e dlqtriage.HeldEffect) (why string, err error) {
	if c.Token > 1 { // Somebody else had it before, who may have sent it.
		sent, err := r.sent(ctx, c, e)
		if sent || err != nil {
			return "", err
		}
	}
	if why, err := r.over(ctx, e); why != "" || err != nil {
		return why, err
	}
	m := nats.NewMsg(e.Subject)
	m.Data = []byte("-NAK") // Without a delay: the broker then gives it out with the next pull, whatever the backoff.
	m.Header.Set(fleet.HeaderTriageAction, c.Action)
	err = r.cfg.Step.Do("hand back", func() error {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		_, err := r.cfg.JetStream.Conn().RequestMsgWithContext(ctx, m)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("answer in the worker's place: %w", err)
	}
	return "", nil
}

// sent reports whether the answer of this action was captured: every acknowledgement has a subject of its own.
func (r *Relay) sent(ctx context.Context, c decision.Claimed, e dlqtriage.HeldEffect) (bool, error) {
	stream, err := r.cfg.JetStream.Stream(ctx, fleet.CaptureAck)
	if err != nil {
		return false, fmt.Errorf("look whether it was sent: %w", err)
	}
	for _, captured := range fleet.CapturedSubjects(e.Subject) {
		line, err := stream.GetLastMsgForSubject(ctx, captured)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("look whether it was sent: %w", err)
		}
		if line.Header.Get(fleet.HeaderTriageAction) == c.Action {
			return true, nil
		}
	}
	return false, nil
}

// over says why the attempt cannot be the current one any more; empty where it is.
func (r *Relay) over(ctx context.Context, e dlqtriage.HeldEffect) (string, error) {
	stream, err := leader.Find(ctx, r.cfg.JetStream, e.Message.Stream.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return "Its stream is gone.", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at the stream: %w", err)
	}
	info, err := leader.Consumer(ctx, r.cfg.JetStream, e.Message.Stream.Name, e.Consumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return "Its consumer is gone: nobody delivers it.", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at the consumer: %w", err)
	}
	if _, err := stream.GetMsg(ctx, e.Message.Seq); errors.Is(err, jetstream.ErrMsgNotFound) {
		return "It left its stream meanwhile.", nil
	} else if err != nil {
		return "", fmt.Errorf("look at the message: %w", err)
	}
	cseq := consumerSeq(e.Subject)
	switch moved := info.Delivered.Consumer != cseq; {
	case cseq <= info.AckFloor.Consumer || cseq > info.Delivered.Consumer:
		return "Its attempt was answered meanwhile, or the consumer is another one.", nil
	case moved && (!e.Deadline.Known() || r.now().Add(beforeDeadline) > e.Deadline):
		return "Its deadline passed, and the next attempt may have begun meanwhile.", nil
	}
	return "", nil
}

// consumerSeq is the consumer sequence in the subject of an acknowledgement.
func consumerSeq(subject string) uint64 {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 3 {
		return 0
	}
	n, _ := strconv.ParseUint(tokens[len(tokens)-3], 10, 64) // Zero is no sequence, and refused.
	return n
}
