package firestoretest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// IndexFile is the name of the file that declares indexes, at the root of the project.
const IndexFile = "firestore.indexes.json"

// indexes is what firestore.indexes.json declares, in the form that Google's tools deploy.
type indexes struct {
	Indexes []struct {
		CollectionGroup string         `json:"collectionGroup"`
		QueryScope      string         `json:"queryScope"`
		Fields          []indexedField `json:"fields"`
	} `json:"indexes"`
	FieldOverrides []struct {
		CollectionGroup string         `json:"collectionGroup"`
		FieldPath       string         `json:"fieldPath"`
		Indexes         []indexedField `json:"indexes"` // They replace the automatic ones.
	} `json:"fieldOverrides"`
}

// indexedField is a field of a composite index, or one index of a field.
type indexedField struct {
	FieldPath   string `json:"fieldPath"`
	Order       string `json:"order"`
	ArrayConfig string `json:"arrayConfig"`
	QueryScope  string `json:"queryScope"`
}

const (
	scopeCollection = "COLLECTION"
	scopeGroup      = "COLLECTION_GROUP"
)

func parseIndexes(text []byte) (indexes, error) {
	var out indexes
	if err := json.Unmarshal(text, &out); err != nil {
		return indexes{}, fmt.Errorf("read %s: %w", IndexFile, err)
	}
	return out, nil
}

// projectIndexes finds the file in the directory of go.mod.
func projectIndexes(t testing.TB) []byte {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, IndexFile))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// check refuses a query that no declared or automatic index serves.
func (x indexes) check(q query) error {
	for _, from := range q.from {
		scope := scopeCollection
		if from.GetAllDescendants() {
			scope = scopeGroup
		}
		if missing := x.missing(q, from.GetCollectionId(), scope); missing != "" {
			return status.Errorf(codes.FailedPrecondition, "the query requires an index that %s does not declare: %s", IndexFile, missing)
		}
	}
	return nil
}

// missing describes the index that a query lacks; empty where it lacks none.
func (x indexes) missing(q query, collection, scope string) string {
	equal, sorted := q.indexed()
	switch {
	case len(sorted) == 0 || (len(sorted) == 1 && len(equal) == 0):
		for _, field := range equal {
			if !x.single(collection, scope, order{field: field}) {
				return fmt.Sprintf("%s.%s, %s", collection, field, scope)
			}
		}
		if len(sorted) == 1 && !x.single(collection, scope, sorted[0]) {
			return fmt.Sprintf("%s.%s, %s", collection, sorted[0].field, scope)
		}
		return ""
	case x.composite(collection, scope, equal, sorted):
		return ""
	}
	return fmt.Sprintf("%s, %s, equal %v, ordered %v", collection, scope, equal, sorted)
}

// indexed lists the fields compared for equality only and the fields that results are ordered by. Every index ends with the name.
func (q query) indexed() (equal []string, sorted []order) {
	for _, o := range q.orders {
		if o.field != nameField {
			sorted = append(sorted, o)
		}
	}
	fields, _ := comparedFields(q.text.GetWhere())
	for _, f := range fields {
		if f != nameField && !slices.ContainsFunc(sorted, func(o order) bool { return o.field == f }) {
			equal = append(equal, f)
		}
	}
	slices.Sort(equal)
	return slices.Compact(equal), sorted
}

// single reports whether one field has an index: in its collection it is automatic unless overridden, across collections it is not.
func (x indexes) single(collection, scope string, o order) bool {
	for _, f := range x.FieldOverrides {
		if f.CollectionGroup == collection && f.FieldPath == o.field {
			return slices.ContainsFunc(f.Indexes, func(i indexedField) bool { return i.QueryScope == scope && i.Order == o.direction() })
		}
	}
	return scope == scopeCollection
}

// composite reports whether an index has the equal fields first, in any order, then the sorted ones, forwards or backwards.
func (x indexes) composite(collection, scope string, equal []string, sorted []order) bool {
	for _, index := range x.Indexes {
		if index.CollectionGroup != collection || index.QueryScope != scope || len(index.Fields) != len(equal)+len(sorted) {
			continue
		}
		var first []string
		for _, f := range index.Fields[:len(equal)] {
			first = append(first, f.FieldPath)
		}
		slices.Sort(first)
		rest := index.Fields[len(equal):]
		if slices.Equal(first, equal) && (follows(rest, sorted, false) || follows(rest, sorted, true)) {
			return true
		}
	}
	return false
}

func follows(fields []indexedField, sorted []order, backwards bool) bool {
	return slices.EqualFunc(fields, sorted, func(f indexedField, o order) bool {
		return f.FieldPath == o.field && strings.EqualFold(f.Order, order{desc: o.desc != backwards}.direction())
	})
}

func (o order) direction() string {
	if o.desc {
		return "DESCENDING"
	}
	return "ASCENDING"
}
