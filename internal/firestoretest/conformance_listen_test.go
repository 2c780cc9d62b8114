package firestoretest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"cloud.google.com/go/firestore"
)

func listenChecks() []check {
	return []check{
		{"a listener is told everything once, then what changes", func(t *testing.T, c *firestore.Client) {
			set(t, c.Doc("things/a"), fields{"n": 1})
			set(t, c.Doc("things/b"), fields{"n": 1})
			l := listenTo(t, c.Collection("things").Where("n", ">=", 1).OrderBy("n", firestore.Asc))
			l.want("added a", "added b")
			set(t, c.Doc("things/c"), fields{"n": 2})
			l.want("added c")
			set(t, c.Doc("things/a"), fields{"n": 3})
			l.want("modified a")
			must[*firestore.WriteResult](t)(c.Doc("things/b").Delete(t.Context()))
			l.want("removed b")
		}},
		{"an empty result is told too", func(t *testing.T, c *firestore.Client) {
			l := listenTo(t, c.Collection("things").Query)
			l.want()
			set(t, c.Doc("things/a"), fields{"n": 1})
			l.want("added a")
		}},
		{"a document that matches no more is removed, and exists", func(t *testing.T, c *firestore.Client) {
			set(t, c.Doc("things/a"), fields{"n": 5})
			l := listenTo(t, c.Collection("things").Where("n", ">=", 2).OrderBy("n", firestore.Asc))
			l.want("added a")
			set(t, c.Doc("things/a"), fields{"n": 1})
			l.want("removed a")
			set(t, c.Doc("things/a"), fields{"n": "5"})
			set(t, c.Doc("things/a"), fields{"n": 6})
			l.want("added a")
		}},
		{"a snapshot has a read time no earlier than its documents", func(t *testing.T, c *firestore.Client) {
			set(t, c.Doc("things/a"), fields{"n": 5})
			l := listenTo(t, c.Collection("things").Query)
			snap := must[*firestore.QuerySnapshot](t)(l.it.Next())
			if snap.ReadTime.Before(snap.Changes[0].Doc.UpdateTime) {
				t.Errorf("read at %v, updated at %v", snap.ReadTime, snap.Changes[0].Doc.UpdateTime)
			}
		}},
		{"a collection group can be listened to", func(t *testing.T, c *firestore.Client) {
			l := listenTo(t, c.CollectionGroup("log").Where("n", ">=", 1).OrderBy("n", firestore.Asc))
			l.want()
			set(t, c.Doc("agents/x/log/1"), fields{"n": 1})
			l.want("added 1")
			set(t, c.Doc("agents/y/log/2"), fields{"n": 1})
			l.want("added 2")
		}},
		{"a single document can be listened to", func(t *testing.T, c *firestore.Client) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			it := c.Doc("things/a").Snapshots(ctx)
			t.Cleanup(it.Stop)
			next := must[*firestore.DocumentSnapshot](t)
			if next(it.Next()).Exists() {
				t.Error("it exists before it was written")
			}
			set(t, c.Doc("things/a"), fields{"n": 1})
			if !next(it.Next()).Exists() {
				t.Error("it does not exist after it was written")
			}
		}},
	}
}

// listening reads the snapshots of a query.
type listening struct {
	t  *testing.T
	it *firestore.QuerySnapshotIterator
}

func listenTo(t *testing.T, q firestore.Query) *listening {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	it := q.Snapshots(ctx)
	t.Cleanup(func() {
		cancel()
		it.Stop()
	})
	return &listening{t, it}
}

// want reads one snapshot and compares its changes.
func (l *listening) want(changes ...string) {
	l.t.Helper()
	snap, err := l.it.Next()
	if err != nil {
		l.t.Fatal(err)
	}
	var got []string
	for _, c := range snap.Changes {
		kind := map[firestore.DocumentChangeKind]string{
			firestore.DocumentAdded: "added", firestore.DocumentModified: "modified", firestore.DocumentRemoved: "removed",
		}[c.Kind]
		got = append(got, fmt.Sprintf("%s %s", kind, c.Doc.Ref.ID))
	}
	if !slices.Equal(got, changes) {
		l.t.Errorf("changes %v, want %v", got, changes)
	}
}
