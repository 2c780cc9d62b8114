package idempotency_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"fleetglass/collectors/idempotency"
	"fleetglass/fleet"
	"fleetglass/internal/firestoretest"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// missing is what looks for records in a test, at a time that the test sets.
type missing struct {
	*idempotency.Missing
	relied []lifecycle.CompletionRef
	kept   time.Duration
	known  bool
	now    time.Time
	told   []lifecycle.Event
}

func newMissing(t *testing.T, sources ...idempotency.Source) *missing {
	t.Helper()
	m := &missing{known: true, now: time.Now()}
	var err error
	m.Missing, err = idempotency.NewMissing(idempotency.MissingConfig{
		Relied: func(context.Context) ([]lifecycle.CompletionRef, error) { return m.relied, nil }, Sources: sources,
		Kept:     func(context.Context) (time.Duration, bool) { return m.kept, m.known },
		Appender: m, Now: func() time.Time { return m.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Append keeps what is told.
func (m *missing) Append(_ context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	m.told = append(m.told, b.Events...)
	return lifecycle.Appended{}, nil
}

// look looks once, after a time, and returns what is told of it.
func (m *missing) look(t *testing.T, after time.Duration) []lifecycle.Event {
	t.Helper()
	m.now, m.told = m.now.Add(after), nil
	if err := m.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m.told
}

func (m *missing) ago(d time.Duration) lifecycle.Micros { return lifecycle.MicrosOf(m.now.Add(-d)) }

func TestARecordThatWentWithoutALineIsToldAsGone(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	records, err := fleet.NewKVRecords(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	if err := records.Complete(t.Context(), fleet.Record{TaskID: "T", CompletedAt: lifecycle.MicrosOf(time.Now())}); err != nil {
		t.Fatal(err)
	}
	bucket, err := js.Stream(t.Context(), "KV_"+fleet.BucketIdempotency)
	if err != nil {
		t.Fatal(err)
	}
	m := newMissing(t, idempotency.NewKVSource(js))
	ref := lifecycle.CompletionRef{RecordRef: lifecycle.RecordRef{TaskID: "T", Key: "T-1", Source: "KV_" + fleet.BucketIdempotency}, At: m.ago(time.Minute)}
	m.relied = []lifecycle.CompletionRef{ref, ref}
	if told := m.look(t, 0); len(told) > 0 {
		t.Fatalf("of one that is there: %+v", told)
	}
	if err := bucket.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		kept   time.Duration
		unsure bool             // How long the bucket keeps records is not known.
		ends   lifecycle.Micros // As the record says.
		late   bool             // It was written after the look began.
		want   lifecycle.Kind
	}{
		"kept for ever":                        {want: lifecycle.RecordDeleted},
		"kept for longer":                      {kept: time.Hour, want: lifecycle.RecordDeleted},
		"kept for less":                        {kept: 30 * time.Second, want: lifecycle.RecordExpired},
		"its end is to come":                   {ends: m.ago(-time.Hour), want: lifecycle.RecordDeleted},
		"its end has come":                     {ends: m.ago(time.Second), want: lifecycle.RecordExpired},
		"its end has come, and is all we know": {unsure: true, ends: m.ago(time.Second), want: lifecycle.RecordExpired},
		"nothing is known of its end":          {unsure: true},
		"it was written meanwhile":             {late: true},
	} {
		of := ref
		if of.ExpiresAt = tc.ends; tc.late {
			of.At = m.ago(-time.Second)
		}
		m.relied, m.kept, m.known = []lifecycle.CompletionRef{of}, tc.kept, !tc.unsure
		told := m.look(t, 0)
		switch {
		case tc.want == "" && len(told) == 0:
		case len(told) != 1 || told[0].Kind != tc.want || told[0].TaskID != "T" || told[0].Detail.IdempotencyKey != "T-1" || told[0].At != lifecycle.MicrosOf(m.now):
			t.Errorf("%s: %+v, want %q", name, told, tc.want)
		}
	}
}

// Firestore tells of deletions while somebody listens, and each question costs: what was found there is not asked for again soon.
func TestADocumentIsNotAskedForAgainSoon(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.complete("T", time.Now())
	source := idempotency.NewFirestoreSource(idempotency.FirestoreConfig{Project: b.cfg.Project, Emulator: b.cfg.Emulator})
	t.Cleanup(func() { _ = source.Close() })
	m := newMissing(t, source)
	m.relied = []lifecycle.CompletionRef{{RecordRef: lifecycle.RecordRef{TaskID: "T", Source: "task-idempotency/T"}, At: m.ago(time.Minute)}}
	m.look(t, 0)
	b.server.Fail(firestoretest.BatchGetDocuments, codes.PermissionDenied, 1)
	m.look(t, 50*time.Minute)
	m.now = m.now.Add(10 * time.Minute)
	if err := m.Look(t.Context()); err == nil {
		t.Error("it was not asked for after an hour")
	}
	if len(m.told) > 0 {
		t.Errorf("without an answer: %+v", m.told)
	}
	if _, err := b.agents.Doc("task-idempotency/T").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if told := m.look(t, 0); len(told) != 1 || told[0].Kind != lifecycle.RecordDeleted {
		t.Errorf("of a document that was deleted: %+v", told)
	}
}
