package collectors

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/leader"
	"fleetglass/lifecycle"
)

// FirstLine is the first line of a stream that OBS_PUB holds.
type FirstLine struct {
	Seq uint64           // The sequence of the message that it is about.
	At  lifecycle.Micros // When it was captured.
}

// FirstLines are those of a stream, at most one for each subject that the stream takes. It errors when the broker does not answer.
func FirstLines(ctx context.Context, pub *leader.Stream, contract fleet.Contract, stream string, subjects []string) (lines []FirstLine, err error) {
	if pub.CachedInfo().State.FirstSeq == 0 { // Nothing was ever captured.
		return nil, nil
	}
	for _, subject := range contract.CaptureSubjects(subjects) {
		for _, captured := range fleet.CapturedSubjects(subject) {
			line, found, err := firstLine(ctx, pub, captured, stream)
			if err != nil {
				return nil, fmt.Errorf("read first publish: %w", err)
			}
			if found {
				lines = append(lines, line)
			}
		}
	}
	return lines, nil
}

// foreignLines is how many lines of other streams are passed over in the search for the first line of one.
const foreignLines = 100

func firstLine(ctx context.Context, pub *leader.Stream, subject, stream string) (f FirstLine, found bool, err error) {
	at := uint64(1)
	for range foreignLines {
		line, err := pub.NextMsg(ctx, at, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return f, false, nil
		}
		if err != nil {
			return f, false, err
		}
		if last(line.Header[fleet.HeaderNatsStream]) == stream {
			seq, err := strconv.ParseUint(last(line.Header[fleet.HeaderNatsSequence]), 10, 64)
			if err == nil { // Else it is not a line of the broker.
				return FirstLine{seq, lifecycle.MicrosOf(line.Time)}, true, nil
			}
		}
		at = line.Sequence + 1
	}
	return f, false, nil
}

// last is the last of some values: the broker's own, behind those that a publisher sent. Empty when there is none.
func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}
