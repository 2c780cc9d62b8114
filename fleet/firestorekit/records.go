package firestorekit

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fleetglass/fleet"
)

// Records keeps records of completions in the collection [RecordCollection]. It implements [fleet.Records].
type Records struct{ store }

var _ fleet.Records = (*Records)(nil)

// NewRecords checks the configuration; it asks Firestore nothing.
func NewRecords(cfg Config) (*Records, error) {
	s, err := newStore(cfg)
	if err != nil {
		return nil, err
	}
	return &Records{s}, nil
}

// Find implements [fleet.Records]. A record counts for as long as it is there, also after its time.
func (r *Records) Find(ctx context.Context, taskID, idempotencyKey string) (*fleet.Record, error) {
	var found *fleet.Record
	err := r.decide(ctx, func(ctx context.Context) error {
		doc, err := r.record(taskID, idempotencyKey).Get(ctx)
		if status.Code(err) == codes.NotFound {
			return nil
		}
		if err == nil {
			found, err = completionOf(doc)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find idempotency record: %w", err)
	}
	return found, nil
}

// Complete implements [fleet.Records]. That the very same record is there already is success: its own write may have had its answer lost.
func (r *Records) Complete(ctx context.Context, completion fleet.Record) error {
	stored, err := asRead(completion)
	if err == nil {
		err = r.decide(ctx, func(ctx context.Context) error { return r.complete(ctx, stored) })
	}
	if err != nil {
		return fmt.Errorf("record completion: %w", err)
	}
	return nil
}

func (s store) complete(ctx context.Context, completion fleet.Record) error {
	ref := s.record(completion.TaskID, completion.IdempotencyKey)
	_, err := ref.Create(ctx, recordFields(completion))
	if !refused(err) {
		return err
	}
	doc, err := ref.Get(ctx)
	if status.Code(err) == codes.NotFound {
		return errMoved
	}
	if err != nil {
		return err
	}
	switch found, err := completionOf(doc); {
	case err != nil:
		return err
	case found != nil && *found == completion:
		return nil
	case found != nil:
		return fleet.ErrRecorded
	}
	// What is there states no completion: agents of other makes reserve so.
	_, err = ref.Update(ctx, recordFields(completion).replace(), firestore.LastUpdateTime(doc.UpdateTime))
	if refused(err) {
		return errors.Join(errMoved, err)
	}
	return err
}
