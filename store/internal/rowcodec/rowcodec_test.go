package rowcodec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"

	"github.com/google/go-cmp/cmp"
)

// fill sets every field below v, so that a field that the codec forgets is found.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("t%d\x00\xff<é>", r.Uint32()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.Uint64:
		v.SetUint(math.MaxUint64 - r.Uint64()>>r.IntN(64))
	case reflect.Uint8:
		v.SetUint(uint64(r.UintN(256)))
	case reflect.Int, reflect.Int64:
		v.SetInt(1 + r.Int64()>>r.IntN(62) - r.Int64()>>r.IntN(62)*2)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 3 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key)
			fill(r, value)
			v.SetMapIndex(key, value)
		}
	default:
		panic("fill: " + v.Kind().String())
	}
}

func TestEveryFieldComesBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var m lifecycle.MessageFacts
		var task lifecycle.TaskFacts
		var e lifecycle.Event
		var headers map[string][]string
		var summary lifecycle.TaskSummary
		for _, v := range []any{&m, &task, &e, &headers, &summary} {
			fill(r, reflect.ValueOf(v).Elem())
		}
		gotMessage, err := rowcodec.Message(m.Key, rowcodec.AppendMessage([]byte("x"), &m)[1:])
		check(t, "message", gotMessage, m, err)
		gotTask, err := rowcodec.Task(task.ID, rowcodec.AppendTask(nil, &task))
		check(t, "task", gotTask, task, err)
		gotEvent := lifecycle.Event{ID: e.ID, At: e.At, TaskID: e.TaskID, Message: e.Message}
		check(t, "event", &gotEvent, &e, rowcodec.ReadEvent(&gotEvent, rowcodec.AppendEvent(nil, &e)))
		gotSummary := lifecycle.TaskSummary{TaskID: summary.TaskID, Message: summary.Message}
		check(t, "summary", &gotSummary, &summary, rowcodec.ReadSummary(&gotSummary, rowcodec.AppendSummary(nil, &summary), rowcodec.Texts{}))
		gotHeaders, err := rowcodec.Headers(rowcodec.AppendHeaders(nil, headers))
		check(t, "headers", gotHeaders, headers, err)
		var entry dlqtriage.Entry
		var followUp dlqtriage.FollowUp
		fill(r, reflect.ValueOf(&entry).Elem())
		fill(r, reflect.ValueOf(&followUp).Elem())
		gotEntry, err := rowcodec.Entry(rowcodec.AppendEntry(nil, &entry))
		entry.ID, entry.Revision = dlqtriage.EntryID(entry.Key), 0
		check(t, "entry", gotEntry, entry, err)
		gotFollowUp, err := rowcodec.FollowUp(followUp.Of, rowcodec.AppendFollowUp(nil, &followUp))
		check(t, "follow-up", gotFollowUp, followUp, err)
	}
}

func TestZeroValuesTakeFewBytes(t *testing.T) {
	t.Parallel()
	for what, w := range map[string][]byte{
		"message": rowcodec.AppendMessage(nil, &lifecycle.MessageFacts{}), "task": rowcodec.AppendTask(nil, &lifecycle.TaskFacts{}),
		"event": rowcodec.AppendEvent(nil, &lifecycle.Event{}), "headers": rowcodec.AppendHeaders(nil, nil),
		"summary": rowcodec.AppendSummary(nil, &lifecycle.TaskSummary{}),
	} {
		if len(w) > 16 {
			t.Errorf("a zero %s takes %d bytes, want 16 at most", what, len(w))
		}
	}
}

func check(t *testing.T, what string, got, want any, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// FuzzRead shows that no bytes make a reader panic or run without end, and that what it reads is written back the same.
func FuzzRead(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	var m lifecycle.MessageFacts
	var task lifecycle.TaskFacts
	var e lifecycle.Event
	for _, v := range []any{&m, &task, &e} {
		fill(r, reflect.ValueOf(v).Elem())
	}
	f.Add(rowcodec.AppendMessage(nil, &m))
	f.Add(rowcodec.AppendTask(nil, &task))
	f.Add(rowcodec.AppendEvent(nil, &e))
	f.Add([]byte{0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := rowcodec.Message(lifecycle.MessageKey{}, b); err == nil {
			again, err := rowcodec.Message(lifecycle.MessageKey{}, rowcodec.AppendMessage(nil, &m))
			check(t, "message", again, m, err)
		}
		if x, err := rowcodec.Task("", b); err == nil {
			_, err := rowcodec.Task("", rowcodec.AppendTask(nil, &x))
			check(t, "task", nil, nil, err)
		}
		var e lifecycle.Event
		if err := rowcodec.ReadEvent(&e, b); err == nil {
			var again lifecycle.Event
			check(t, "event", nil, nil, rowcodec.ReadEvent(&again, rowcodec.AppendEvent(nil, &e)))
		}
		_, _ = rowcodec.Headers(b)
	})
}
