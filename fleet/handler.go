package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// Delivery is one attempt at one task, as a handler sees it.
type Delivery struct {
	Task    Task
	Key     lifecycle.MessageKey
	Subject string
	Body    []byte
	Attempt int    // From 1.
	Number  uint64 // Of this delivery among all that its consumer has made, from 1: the consumer sequence.
	Token   uint64 // The fencing token: that of the reservation, else the attempt, because the broker raises it with every new holder.

	records time.Duration // What it has waited for the records so far.
	report  func(ctx context.Context, kind lifecycle.Kind, data ReportData) error
}

// Report sends a report about this delivery with the lease fields filled in. It does nothing when the worker has no reporter, and
// errors as [Reporter.Report] does.
func (d Delivery) Report(ctx context.Context, kind lifecycle.Kind, data ReportData) error {
	if d.report == nil {
		return nil
	}
	return d.report(ctx, kind, data)
}

// Handler does the work of a task. It returns a short summary of the result, or an error that says what is to become of the task:
// one made by [Terminate] ends it, one made by [Delay] hands it back for that long, [ErrAbandoned] leaves the delivery without an
// answer, and any other error hands it back after the worker's NakDelay. The context ends when the worker stops.
type Handler func(ctx context.Context, d Delivery) (summary string, err error)

// ErrAbandoned makes the worker walk away from a delivery without an answer, as a crash would, and as a worker must that knows it has
// lost its lease. The broker hands the task out again after the wait.
var ErrAbandoned = errors.New("delivery abandoned")

type terminate struct{ reason string }

func (e *terminate) Error() string { return "terminated: " + e.reason }

// Terminate is the error by which a handler says that no attempt can succeed.
func Terminate(reason string) error { return &terminate{reason} }

type delay struct {
	wait  time.Duration
	cause error
}

func (e *delay) Error() string { return fmt.Sprintf("again in %s: %v", e.wait, e.cause) }
func (e *delay) Unwrap() error { return e.cause }

// Delay is the error by which a handler asks for another attempt after a wait.
func Delay(wait time.Duration, cause error) error { return &delay{wait, cause} }
