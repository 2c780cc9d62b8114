package firestoretest

import (
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
)

func queryChecks() []check {
	return []check{
		{"an inequality selects values of its own type", func(t *testing.T, c *firestore.Client) {
			mixture(t, c)
			wantIDs(t, c.Collection("things").Where("n", ">=", 2), "number", "real")
			wantIDs(t, c.Collection("things").Where("n", ">=", time.Unix(0, 0)), "time")
			wantIDs(t, c.Collection("things").Where("n", ">", "1"), "text")
		}},
		{"an order spans types and leaves out documents without the field", func(t *testing.T, c *firestore.Client) {
			mixture(t, c)
			wantIDs(t, c.Collection("things").OrderBy("n", firestore.Asc), "null", "truth", "number", "real", "time", "text", "bytes", "list", "map")
			wantIDs(t, c.Collection("things").OrderBy("n", firestore.Desc).Limit(2), "map", "list")
		}},
		{"pages by value and name give everything once, ties included", func(t *testing.T, c *firestore.Client) {
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				set(t, c.Collection("things").Doc(id), fields{"n": 7})
			}
			set(t, c.Doc("things/f"), fields{"n": 8})
			q := c.Collection("things").Where("n", ">=", 7).OrderBy("n", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc).Limit(2)
			wantIDs(t, q, "a", "b")
			wantIDs(t, q.StartAfter(7, "b"), "c", "d")
			wantIDs(t, q.StartAfter(7, c.Doc("things/d")), "e", "f")
			wantIDs(t, q.StartAfter(8, "f"))
			wantIDs(t, q.StartAt(7, "e").Limit(1), "e")
			wantIDs(t, q.EndBefore(7, "b"), "a")
		}},
		{"a collection group is paged by full names", func(t *testing.T, c *firestore.Client) {
			for _, path := range []string{"agents/x/log/1", "agents/y/log/1", "agents/y/log/2", "other/z/log/1"} {
				set(t, c.Doc(path), fields{"n": 1})
			}
			set(t, c.Doc("agents/x/lag/1"), fields{"n": 1})
			q := c.CollectionGroup("log").OrderBy("n", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc)
			if got := len(ids(t, q)); got != 4 {
				t.Errorf("%d documents, want 4", got)
			}
			wantIDs(t, q.StartAfter(1, c.Doc("agents/y/log/1")), "2", "1")
			byName := c.CollectionGroup("log").OrderBy(firestore.DocumentID, firestore.Asc)
			wantIDs(t, byName.StartAfter(c.Doc("agents/y/log/2")).Limit(5), "1")
		}},
		{"filters select", func(t *testing.T, c *firestore.Client) {
			set(t, c.Doc("things/a"), fields{"n": 1, "who": "x", "tags": []string{"p", "q"}})
			set(t, c.Doc("things/b"), fields{"n": 2, "who": "y", "tags": []string{"q"}})
			set(t, c.Doc("things/c"), fields{"n": 3, "who": nil})
			all := c.Collection("things")
			wantIDs(t, all.Where("who", "==", "y"), "b")
			wantIDs(t, all.Where("who", "==", nil), "c")
			wantIDs(t, all.Where("who", "!=", "y"), "a")
			wantIDs(t, all.Where("n", "in", []int{1, 3}), "a", "c")
			wantIDs(t, all.Where("n", "not-in", []int{1, 3}), "b")
			wantIDs(t, all.Where("tags", "array-contains", "p"), "a")
			wantIDs(t, all.Where("tags", "array-contains-any", []string{"p", "q"}), "a", "b")
			wantIDs(t, all.Where("who", "==", "x").Where("n", ">", 0).OrderBy("n", firestore.Asc), "a")
			wantIDs(t, all.WhereEntity(firestore.OrFilter{Filters: []firestore.EntityFilter{
				firestore.PropertyFilter{Path: "n", Operator: "==", Value: 1}, firestore.PropertyFilter{Path: "n", Operator: "==", Value: 2},
			}}), "a", "b")
			wantIDs(t, all.OrderBy("n", firestore.Desc).Offset(1).Limit(1), "b")
		}},
		{"a projection carries the fields it names", func(t *testing.T, c *firestore.Client) {
			set(t, c.Doc("things/a"), fields{"n": 1, "who": "x"})
			docs := must[[]*firestore.DocumentSnapshot](t)(c.Collection("things").Select("n").Documents(t.Context()).GetAll())
			if len(docs) != 1 || len(docs[0].Data()) != 1 || docs[0].Data()["n"] != int64(1) {
				t.Errorf("got %v", docs[0].Data())
			}
		}},
		{"results are counted", func(t *testing.T, c *firestore.Client) {
			mixture(t, c)
			got := must[firestore.AggregationResult](t)(c.Collection("things").NewAggregationQuery().WithCount("all").Get(t.Context()))
			if n, ok := got["all"].(interface{ GetIntegerValue() int64 }); !ok || n.GetIntegerValue() != 10 {
				t.Errorf("counted %v, want 10", got["all"])
			}
		}},
		{"the past can be read", func(t *testing.T, c *firestore.Client) {
			w := set(t, c.Doc("things/a"), fields{"n": 1})
			set(t, c.Doc("things/a"), fields{"n": 2})
			past := c.Doc("things/a").WithReadOptions(firestore.ReadTime(w.UpdateTime))
			if got := get(t, past).Data()["n"]; got != int64(1) {
				t.Errorf("n was %v, want 1", got)
			}
		}},
		{"queries are read at one time", func(t *testing.T, c *firestore.Client) {
			mixture(t, c)
			docs := must[[]*firestore.DocumentSnapshot](t)(c.Collection("things").Documents(t.Context()).GetAll())
			differ := slices.ContainsFunc(docs, func(d *firestore.DocumentSnapshot) bool {
				return !d.ReadTime.Equal(docs[0].ReadTime) || d.ReadTime.Before(d.UpdateTime)
			})
			if differ {
				t.Error("documents of one result have different read times, or times before their update")
			}
		}},
	}
}

// mixture writes documents whose field n has every type, and one without it.
func mixture(t *testing.T, c *firestore.Client) {
	t.Helper()
	values := fields{
		"null": nil, "truth": true, "number": 2, "real": 2.5, "time": time.Unix(1, 0), "text": "2", "bytes": []byte{2}, "list": []int{2},
		"map": fields{"a": 2},
	}
	for id, v := range values {
		set(t, c.Collection("things").Doc(id), fields{"n": v})
	}
	set(t, c.Doc("things/without"), fields{"m": 2})
}
