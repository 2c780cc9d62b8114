package firestoretest

import (
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
)

func documentChecks() []check {
	return []check{
		{"a document is created once", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			must[*firestore.WriteResult](t)(ref.Create(t.Context(), fields{"n": 1}))
			_, err := ref.Create(t.Context(), fields{"n": 2})
			wantCode(t, err, codes.AlreadyExists)
			if got := get(t, ref).Data()["n"]; got != int64(1) {
				t.Errorf("n = %v, want 1", got)
			}
		}},
		{"an update changes the fields it names", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			set(t, ref, fields{"keep": "x", "drop": true, "deep": fields{"a": 1, "b": 2}})
			must[*firestore.WriteResult](t)(ref.Update(t.Context(), []firestore.Update{
				{Path: "drop", Value: firestore.Delete}, {Path: "deep.a", Value: 3}, {FieldPath: []string{"odd.name"}, Value: "y"},
			}))
			want := fields{"keep": "x", "deep": fields{"a": int64(3), "b": int64(2)}, "odd.name": "y"}
			if diff := cmp.Diff(want, get(t, ref).Data()); diff != "" {
				t.Error(diff)
			}
		}},
		{"an update needs a document", func(t *testing.T, c *firestore.Client) {
			_, err := c.Doc("things/none").Update(t.Context(), []firestore.Update{{Path: "n", Value: 1}})
			wantCode(t, err, codes.NotFound)
		}},
		{"a document that is not there is told with a time", func(t *testing.T, c *firestore.Client) {
			set(t, c.Doc("things/a"), fields{"n": 1})
			docs := must[[]*firestore.DocumentSnapshot](t)(c.GetAll(t.Context(), []*firestore.DocumentRef{c.Doc("things/none"), c.Doc("things/a")}))
			if docs[0].Exists() || docs[0].ReadTime.IsZero() || !docs[1].Exists() {
				t.Errorf("got %v at %v, and %v", docs[0].Exists(), docs[0].ReadTime, docs[1].Exists())
			}
		}},
		{"update times rise and the creation time stays", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			set(t, ref, fields{"n": 1})
			before := get(t, ref)
			set(t, ref, fields{"n": 2})
			after := get(t, ref)
			if !after.UpdateTime.After(before.UpdateTime) || !after.CreateTime.Equal(before.CreateTime) || after.ReadTime.Before(after.UpdateTime) {
				t.Errorf("created %v, %v; updated %v, %v; read %v", before.CreateTime, after.CreateTime, before.UpdateTime, after.UpdateTime, after.ReadTime)
			}
		}},
		{"a document created again has a new creation time", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			set(t, ref, fields{"n": 1})
			before := get(t, ref)
			must[*firestore.WriteResult](t)(ref.Delete(t.Context()))
			set(t, ref, fields{"n": 1})
			if after := get(t, ref); !after.CreateTime.After(before.CreateTime) {
				t.Errorf("created %v, then %v", before.CreateTime, after.CreateTime)
			}
		}},
		{"a write may demand the version it knows", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			old := set(t, ref, fields{"n": 1})
			set(t, ref, fields{"n": 2})
			_, err := ref.Update(t.Context(), []firestore.Update{{Path: "n", Value: 3}}, firestore.LastUpdateTime(old.UpdateTime))
			wantCode(t, err, codes.FailedPrecondition)
			_, err = ref.Delete(t.Context(), firestore.LastUpdateTime(old.UpdateTime))
			wantCode(t, err, codes.FailedPrecondition)
		}},
		{"values are transformed by the server", func(t *testing.T, c *firestore.Client) {
			ref := c.Doc("things/a")
			set(t, ref, fields{"n": 1, "list": []string{"a", "b"}})
			must[*firestore.WriteResult](t)(ref.Update(t.Context(), []firestore.Update{
				{Path: "n", Value: firestore.Increment(2)}, {Path: "at", Value: firestore.ServerTimestamp},
				{Path: "list", Value: firestore.ArrayUnion("b", "c")},
			}))
			must[*firestore.WriteResult](t)(ref.Update(t.Context(), []firestore.Update{{Path: "list", Value: firestore.ArrayRemove("a")}}))
			got := get(t, ref).Data()
			if at, ok := got["at"].(time.Time); !ok || at.Truncate(time.Millisecond) != at || time.Since(at).Abs() > patience {
				t.Errorf("the server's time is %v, want one in whole milliseconds", got["at"])
			}
			delete(got, "at")
			if diff := cmp.Diff(fields{"n": int64(3), "list": []any{"b", "c"}}, got); diff != "" {
				t.Error(diff)
			}
		}},
		{"bulk writes succeed or fail one by one", func(t *testing.T, c *firestore.Client) {
			set(t, c.Doc("things/a"), fields{"n": 1})
			bulk := c.BulkWriter(t.Context())
			clash := must[*firestore.BulkWriterJob](t)(bulk.Create(c.Doc("things/a"), fields{"n": 2}))
			fine := must[*firestore.BulkWriterJob](t)(bulk.Create(c.Doc("things/b"), fields{"n": 3}))
			bulk.End()
			_, err := clash.Results()
			wantCode(t, err, codes.AlreadyExists)
			_, err = fine.Results()
			wantCode(t, err, codes.OK)
		}},
		{"collections and documents are listed, also those that only have descendants", func(t *testing.T, c *firestore.Client) {
			set(t, c.Doc("things/a"), fields{"n": 1})
			set(t, c.Doc("things/b/log/1"), fields{"n": 1})
			refs := drain(t, c.Collection("things").DocumentRefs(t.Context()).Next)
			if len(refs) != 2 || refs[0].ID != "a" || refs[1].ID != "b" {
				t.Errorf("documents %v", refs)
			}
			if found := drain(t, c.Doc("things/b").Collections(t.Context()).Next); len(found) != 1 || found[0].ID != "log" {
				t.Errorf("collections %v", found)
			}
		}},
	}
}
