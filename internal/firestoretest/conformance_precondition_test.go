package firestoretest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// preconditionChecks is what reservations rest on: what a write may demand, and what a transaction promises.
func preconditionChecks() []check {
	return slices.Concat(demandChecks(), promiseChecks())
}

func demandChecks() []check {
	return []check{
		{"a write that changes nothing keeps the update time", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			first := set(t, ref, fields{"n": 1, "deep": fields{"x": 1}})
			same := must[*firestore.WriteResult](t)(ref.Update(t.Context(), []firestore.Update{{Path: "n", Value: 1}}))
			if got := get(t, ref).UpdateTime; !got.Equal(first.UpdateTime) || !same.UpdateTime.Equal(first.UpdateTime) {
				t.Errorf("updated %v, told %v, then read %v", first.UpdateTime, same.UpdateTime, got)
			}
		}},
		{"an update of a version needs the document", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			last := set(t, ref, fields{"n": 1})
			must[*firestore.WriteResult](t)(ref.Delete(t.Context()))
			_, err := ref.Update(t.Context(), []firestore.Update{{Path: "n", Value: 2}}, firestore.LastUpdateTime(last.UpdateTime))
			wantRefusal(t, err)
			_, err = ref.Delete(t.Context(), firestore.LastUpdateTime(last.UpdateTime))
			wantRefusal(t, err)
		}},
		{"a document may be deleted on the condition that it exists", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			_, err := ref.Delete(t.Context(), firestore.Exists)
			wantCode(t, err, codes.NotFound)
			set(t, ref, fields{"n": 1})
			must[*firestore.WriteResult](t)(ref.Delete(t.Context(), firestore.Exists))
			must[*firestore.WriteResult](t)(ref.Delete(t.Context()))
		}},
		{"the version of a write is the one that is read", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			last := must[*firestore.WriteResult](t)(ref.Create(t.Context(), fields{"n": 0}))
			for n := range 5 {
				next := must[*firestore.WriteResult](t)(ref.Update(t.Context(), []firestore.Update{
					{Path: "n", Value: n + 1}, {Path: "at", Value: firestore.ServerTimestamp},
				}, firestore.LastUpdateTime(last.UpdateTime)))
				if got := get(t, ref).UpdateTime; !got.Equal(next.UpdateTime) || !got.After(last.UpdateTime) || got.Truncate(time.Microsecond) != got {
					t.Fatalf("update %d at %v, after one at %v, is read as %v", n, next.UpdateTime, last.UpdateTime, got)
				}
				last = next
			}
		}},
		{"of an update and a takeover of one version one succeeds", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			last := set(t, ref, fields{"n": 1})
			errs := make(chan error)
			for i := range 10 {
				go func() {
					_, err := ref.Update(t.Context(), []firestore.Update{{Path: "n", Value: i + 2}}, firestore.LastUpdateTime(last.UpdateTime))
					errs <- err
				}()
			}
			done := 0
			for range 10 {
				switch err := <-errs; status.Code(err) {
				case codes.OK:
					done++
				case codes.FailedPrecondition, codes.Aborted:
				default:
					t.Error(err)
				}
			}
			if done != 1 {
				t.Errorf("%d succeeded", done)
			}
		}},
		{"what is read after a deletion is read later than it", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			created := set(t, ref, fields{"n": 1})
			must[*firestore.WriteResult](t)(ref.Delete(t.Context()))
			docs := must[[]*firestore.DocumentSnapshot](t)(c.GetAll(t.Context(), []*firestore.DocumentRef{ref}))
			if docs[0].Exists() || !docs[0].ReadTime.After(created.UpdateTime) {
				t.Errorf("written %v, read %v", created.UpdateTime, docs[0].ReadTime)
			}
		}},
	}
}

func promiseChecks() []check {
	return []check{
		{"a demand in a transaction fails all of it", func(t *testing.T, c *firestore.Client) {
			a, b := c.Doc("things/a"), c.Doc("things/b")
			old := set(t, a, fields{"n": 1})
			set(t, a, fields{"n": 2})
			err := c.RunTransaction(t.Context(), func(_ context.Context, tx *firestore.Transaction) error {
				return errors.Join(tx.Create(b, fields{"n": 1}), tx.Delete(a, firestore.LastUpdateTime(old.UpdateTime)))
			})
			wantCode(t, err, codes.FailedPrecondition)
			_, err = b.Get(t.Context())
			wantCode(t, err, codes.NotFound)
		}},
		{"a transaction that read what has changed is repeated", func(t *testing.T, c *firestore.Client) {
			a, b := c.Doc("things/a"), c.Doc("things/b")
			set(t, a, fields{"n": 1})
			var seen []any
			changed := make(chan error, 1)
			err := c.RunTransaction(t.Context(), func(_ context.Context, tx *firestore.Transaction) error {
				doc, err := tx.Get(a)
				if err != nil {
					return err
				}
				if seen = append(seen, doc.Data()["n"]); len(seen) == 1 {
					go func() { // A server that locks what is read lets it wait, and the transaction is not repeated.
						_, err := a.Set(context.WithoutCancel(t.Context()), fields{"n": 2})
						changed <- err
					}()
					meanwhile(t, changed)
				}
				return tx.Set(b, fields{"n": doc.Data()["n"]})
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := <-changed; err != nil {
				t.Error(err)
			}
			if got := get(t, b).Data()["n"]; got != seen[len(seen)-1] {
				t.Errorf("wrote %v after it saw %v", got, seen)
			}
		}},
		{"a transaction that saw nothing is repeated when there is something", func(t *testing.T, c *firestore.Client) {
			a, b := c.Doc("things/a"), c.Doc("things/b")
			var seen []bool
			changed := make(chan error, 1)
			err := c.RunTransaction(t.Context(), func(_ context.Context, tx *firestore.Transaction) error {
				docs, err := tx.GetAll([]*firestore.DocumentRef{a, b})
				if err != nil {
					return err
				}
				if seen = append(seen, docs[0].Exists()); len(seen) == 1 {
					go func() {
						_, err := a.Create(context.WithoutCancel(t.Context()), fields{"n": 2})
						changed <- err
					}()
					meanwhile(t, changed)
				}
				if docs[0].Exists() {
					return nil
				}
				return tx.Create(b, fields{"alone": true})
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := <-changed; err != nil {
				t.Error(err)
			}
			first, second := get(t, a), must[[]*firestore.DocumentSnapshot](t)(c.GetAll(t.Context(), []*firestore.DocumentRef{b}))[0]
			if second.Exists() && first.CreateTime.Before(second.CreateTime) {
				t.Errorf("it wrote at %v what rests on there being nothing, which came at %v", second.CreateTime, first.CreateTime)
			}
		}},
		{"a transaction can set and delete what it read", func(t *testing.T, c *firestore.Client) {
			a, b := c.Doc("things/a"), c.Doc("things/b")
			set(t, a, fields{"n": 1})
			var done firestore.CommitResponse
			err := c.RunTransaction(t.Context(), func(_ context.Context, tx *firestore.Transaction) error {
				if _, err := tx.GetAll([]*firestore.DocumentRef{a, b}); err != nil {
					return err
				}
				return errors.Join(tx.Set(b, fields{"n": 1}), tx.Delete(a))
			}, firestore.WithCommitResponseTo(&done))
			if err != nil {
				t.Fatal(err)
			}
			_, err = a.Get(t.Context())
			wantCode(t, err, codes.NotFound)
			got := get(t, b)
			if diff := cmp.Diff(fields{"n": int64(1)}, got.Data()); diff != "" || !got.UpdateTime.Equal(done.CommitTime()) {
				t.Errorf("%s; committed %v, read %v", diff, done.CommitTime(), got.UpdateTime)
			}
		}},
		{"a transaction that gives up changes nothing", func(t *testing.T, c *firestore.Client) {
			a, gaveUp := c.Doc("things/a"), errors.New("gave up")
			err := c.RunTransaction(t.Context(), func(_ context.Context, tx *firestore.Transaction) error {
				return errors.Join(tx.Create(a, fields{"n": 1}), gaveUp)
			})
			if !errors.Is(err, gaveUp) {
				t.Error(err)
			}
			_, err = a.Get(t.Context())
			wantCode(t, err, codes.NotFound)
			must[*firestore.WriteResult](t)(a.Create(t.Context(), fields{"n": 2}))
		}},
	}
}

// meanwhile lets another writer go first, where the server lets it.
func meanwhile(t *testing.T, done chan error) {
	t.Helper()
	timer := time.NewTimer(200 * time.Millisecond)
	defer timer.Stop()
	select {
	case err := <-done:
		done <- err
	case <-timer.C:
	}
}

// wantRefusal expects that a write was refused because of the version that it demands.
func wantRefusal(t *testing.T, err error) {
	t.Helper()
	if code := status.Code(err); code != codes.FailedPrecondition && code != codes.NotFound {
		t.Errorf("got error %v (%v)", err, code)
	}
}
