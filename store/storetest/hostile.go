package storetest

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"fleetglass/lifecycle"
)

var hostileTests = []conformanceTest{
	{"any bytes in every text field", hostileTexts},
	{"task ids that differ in odd bytes only", hostileIDs},
	{"sources that name any bytes", hostileSources},
}

// hostileText has markup, NUL, invalid UTF-8, quotes, LIKE wildcards, separators of keys, and a line separator.
const hostileText = "<script>alert(1)</script>\x00\xff\xfe'\"\\;--%_*~:/|\r\n\u2028\U0001f600"

// everyField is an event with a value in every field, told of a message of its own.
func everyField(task string) lifecycle.Event {
	e := lifecycle.Event{
		ID: math.MaxUint64 - 1, At: 1_700_000_000_123_456, Kind: lifecycle.Published, Provenance: lifecycle.Observed, SourceSeq: math.MaxUint64,
		Message:     lifecycle.MessageKey{Stream: lifecycle.StreamID{Account: "A", Domain: "D", Name: "S", Epoch: 77}, Seq: math.MaxUint64},
		ConsumerSeq: math.MaxUint64 - 3, Attempt: 3, Raw: []byte("subject\n\x00\xff"),
	}
	e.Source, e.TaskID, e.Agent, e.Consumer = "OBS", task, "agent", "consumer"
	fill(reflect.ValueOf(&e.Detail).Elem(), "text ")
	return e
}

// fill gives every field of a struct, and of the structs in it, a value other than zero; texts begin with prefix.
func fill(v reflect.Value, prefix string) {
	for i := range v.NumField() {
		fillOne(v.Field(i), i, prefix, v.Type().Field(i).Name)
	}
}

// fillOne gives a value to the i-th field of a struct.
func fillOne(f reflect.Value, i int, prefix, name string) {
	switch f.Kind() {
	case reflect.Struct:
		fill(f, prefix)
	case reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		fillOne(f.Index(0), i, prefix, name)
	case reflect.String:
		f.SetString(prefix + name)
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Float64:
		f.SetFloat(1.0 / 3)
	case reflect.Uint64:
		f.SetUint(math.MaxUint64 - uint64(i))
	case reflect.Int, reflect.Int64:
		f.SetInt(math.MaxInt32 + int64(i))
	default:
		panic("fill: " + f.Kind().String())
	}
}

func hostileTexts(t *testing.T, s Store) {
	published := everyField(hostileText)
	stream := &published.Message.Stream
	stream.Account, stream.Domain, stream.Name = "A"+hostileText, "D"+hostileText, "N"+hostileText
	published.Source, published.Agent, published.Consumer = hostileText, hostileText, hostileText
	fill(reflect.ValueOf(&published.Detail).Elem(), hostileText)
	published.Detail.OfTask = published.TaskID                                                      // An entry that names another task does not count.
	published.Detail.Watches, published.Detail.Unproved, published.Detail.Own = false, false, false // Nor do lines of who only watches, and answers without proof.
	events := []lifecycle.Event{published}
	for _, kind := range []lifecycle.Kind{
		lifecycle.PublishAttempted, lifecycle.DeadLettered, lifecycle.Terminated, lifecycle.Vanished, lifecycle.PresumedDead,
		lifecycle.CompletionRecorded, lifecycle.ReportClaimed, lifecycle.ReportFailed, lifecycle.Classified, lifecycle.Decided, lifecycle.Triaged,
	} {
		e := published
		e.ID, e.Kind = e.ID-lifecycle.EventID(len(events)), kind
		if kind == lifecycle.PublishAttempted || kind == lifecycle.CompletionRecorded || strings.HasPrefix(string(kind), "claim") || kind == lifecycle.ReportFailed {
			e.Message, e.Provenance = lifecycle.MessageKey{}, lifecycle.Reported
		}
		events = append(events, e)
	}
	for _, e := range events {
		mustAppend(t, s, []lifecycle.Event{e})
	}
	w := expectedOf(events)
	w.check(t, s)
	for _, f := range []lifecycle.Filter{
		{Agents: []string{hostileText}}, {IDs: []string{hostileText}}, {IDs: []string{hostileText + "*"}}, {IDs: []string{"<script>*"}},
		{Types: []string{hostileText + "Type"}}, {Categories: []string{hostileText + "Category"}}, {Streams: []string{stream.String()}},
		{Words: []string{"\xff\xfe'\""}}, {Words: []string{"\x00"}}, {Words: []string{"SCRIPT>"}},
	} {
		if len(w.list(f)) != 1 {
			t.Errorf("filter %+v selects %d tasks, want 1", f, len(w.list(f)))
		}
		w.checkList(t, s, f)
		w.checkCounts(t, s, f)
	}
}

func hostileIDs(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	ids := []string{"a", "A", "a ", " a", "a\x00", "a\x00b", "\xff", "\xff\xff", "\xfe", "\ufffd", "é", "e\u0301", "", "%", "_", "'", `\`, strings.Repeat("x", 5000)}
	for _, id := range ids {
		w.tried(id, "cto", id)
		w.published(id, "cto", 0)
	}
	inBatches(t, s, w.events, 3)
	all := expectedOf(w.events)
	for _, id := range ids {
		all.checkList(t, s, lifecycle.Filter{IDs: []string{id + "*"}})
		all.checkList(t, s, lifecycle.Filter{IDs: []string{id, "zz"}})
		all.checkList(t, s, lifecycle.Filter{Words: []string{id}})
	}
	all.checkWalk(t, s, lifecycle.Filter{}, 4)
	if _, err := s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	all.check(t, s)
}

func hostileSources(t *testing.T, s Store) {
	line := lifecycle.QuarantinedLine{
		ID: 7, Source: hostileText, At: 5, Subject: hostileText, Headers: map[string][]string{hostileText: {hostileText}}, Body: []byte(hostileText), Reason: hostileText,
	}
	gap := lifecycle.Gap{Source: hostileText, From: 5, Reason: hostileText}
	consumer := lifecycle.ConsumerState{
		Stream: lifecycle.StreamID{Account: hostileText, Domain: hostileText, Name: hostileText}, Name: hostileText, ObservedAt: 5, Filters: []string{hostileText},
	}
	mustStore(t, s, lifecycle.Batch{
		Quarantined: []lifecycle.QuarantinedLine{line}, Gaps: []lifecycle.Gap{gap}, Consumers: []lifecycle.ConsumerState{consumer},
		Watermarks: map[string]string{hostileText: hostileText},
	})
	lines, _, err := s.Quarantine(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "quarantined line", lines, []lifecycle.QuarantinedLine{line})
	gaps, err := s.Gaps(t.Context(), 0, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "gap", gaps, []lifecycle.Gap{gap})
	consumers, err := s.Consumers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "consumer", consumers, []lifecycle.ConsumerState{consumer})
	if got, err := s.Watermark(t.Context(), hostileText); err != nil || got != hostileText {
		t.Errorf("watermark: got %q, %v", got, err)
	}
}
