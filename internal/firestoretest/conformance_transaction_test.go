package firestoretest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func transactionChecks() []check {
	return []check{
		{"a transaction is all or nothing", func(t *testing.T, c *firestore.Client) {
			set(t, c.Doc("things/a"), fields{"n": 1})
			err := c.RunTransaction(t.Context(), func(_ context.Context, tx *firestore.Transaction) error {
				if err := tx.Set(c.Doc("things/b"), fields{"n": 2}); err != nil {
					return err
				}
				return tx.Create(c.Doc("things/a"), fields{"n": 3})
			})
			wantCode(t, err, codes.AlreadyExists)
			_, err = c.Doc("things/b").Get(t.Context())
			wantCode(t, err, codes.NotFound)
		}},
		{"transactions that meet are repeated", func(t *testing.T, c *firestore.Client) {
			const writers = 5
			set(t, c.Doc("things/a"), fields{"n": 0})
			var all sync.WaitGroup
			for range writers {
				all.Go(func() {
					if err := c.RunTransaction(t.Context(), increment(c.Doc("things/a")), firestore.MaxAttempts(50)); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if got := get(t, c.Doc("things/a")).Data()["n"]; got != int64(writers) {
				t.Errorf("n = %v, want %d", got, writers)
			}
		}},
		{"one of twenty reservations wins", func(t *testing.T, c *firestore.Client) {
			var won atomic.Int32
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					switch _, err := c.Doc("things/key").Create(t.Context(), fields{"owner": i}); status.Code(err) {
					case codes.OK:
						won.Add(1)
					case codes.AlreadyExists:
					default:
						t.Error(err)
					}
				})
			}
			all.Wait()
			if got := won.Load(); got != 1 {
				t.Errorf("%d won", got)
			}
		}},
		{"a read-only transaction sees one time", func(t *testing.T, c *firestore.Client) {
			set(t, c.Doc("things/a"), fields{"n": 1})
			err := c.RunTransaction(t.Context(), func(_ context.Context, tx *firestore.Transaction) error {
				docs, err := tx.Documents(c.Collection("things")).GetAll()
				if err == nil && len(docs) != 1 {
					t.Errorf("%d documents", len(docs))
				}
				return err
			}, firestore.ReadOnly)
			if err != nil {
				t.Error(err)
			}
		}},
	}
}

func increment(ref *firestore.DocumentRef) func(context.Context, *firestore.Transaction) error {
	return func(_ context.Context, tx *firestore.Transaction) error {
		doc, err := tx.Get(ref)
		if err != nil {
			return err
		}
		n, err := doc.DataAt("n")
		if err != nil {
			return err
		}
		return tx.Update(ref, []firestore.Update{{Path: "n", Value: n.(int64) + 1}})
	}
}
