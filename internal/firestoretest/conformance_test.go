package firestoretest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/goleak"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait. The emulator is slow while its machine code is being made.
const patience = 30 * time.Second

// fields is a document's content.
type fields = map[string]any

// check is one behaviour of Firestore, shown with the real client on an empty database.
type check struct {
	name string
	run  func(t *testing.T, c *firestore.Client)
}

// conformanceIndexes are those that the checks need.
const conformanceIndexes = `{
	"indexes": [{"collectionGroup": "things", "queryScope": "COLLECTION",
		"fields": [{"fieldPath": "who", "order": "ASCENDING"}, {"fieldPath": "n", "order": "ASCENDING"}]}],
	"fieldOverrides": [{"collectionGroup": "log", "fieldPath": "n", "indexes": [{"order": "ASCENDING", "queryScope": "COLLECTION_GROUP"}]}]
}`

func checks() []check {
	return slices.Concat(documentChecks(), queryChecks(), transactionChecks(), preconditionChecks(), listenChecks())
}

func TestTheServerBehavesAsFirestore(t *testing.T) {
	t.Parallel()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, Start(t, Config{Indexes: []byte(conformanceIndexes)}).Client(t))
		})
	}
}

func TestGooglesEmulatorPassesTheSameChecks(t *testing.T) {
	t.Parallel()
	addr := Emulator(t)
	if addr == "" {
		t.Log("emulator not present: the checks ran against our own server only")
		return
	}
	for i, c := range checks() {
		t.Run(c.name, func(t *testing.T) { c.run(t, Connect(t, addr, fmt.Sprintf("project-%d", i))) })
	}
}

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("got error %v (%v), want %v", err, got, want)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func set(t *testing.T, ref *firestore.DocumentRef, f fields) *firestore.WriteResult {
	t.Helper()
	return must[*firestore.WriteResult](t)(ref.Set(t.Context(), f))
}

func get(t *testing.T, ref *firestore.DocumentRef) *firestore.DocumentSnapshot {
	t.Helper()
	return must[*firestore.DocumentSnapshot](t)(ref.Get(t.Context()))
}

// ids runs a query and lists the ids of its result.
func ids(t *testing.T, q firestore.Query) []string {
	t.Helper()
	docs := must[[]*firestore.DocumentSnapshot](t)(q.Documents(t.Context()).GetAll())
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = d.Ref.ID
	}
	return out
}

func wantIDs(t *testing.T, q firestore.Query, want ...string) {
	t.Helper()
	if got := ids(t, q); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// drain lists everything that an iterator gives.
func drain[T any](t *testing.T, next func() (T, error)) []T {
	t.Helper()
	var out []T
	for {
		v, err := next()
		if err == iterator.Done {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
}
