package dlqtriage_test

import (
	"errors"
	"net/url"
	"reflect"
	"testing"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestAFilterOfEntriesIsReadAndWritten(t *testing.T) {
	t.Parallel()
	v := url.Values{
		"status": {"open", "deferred", "open"}, "category": {"transient"}, "detail": {dlqtriage.Empty}, "kind": {"resource"}, "path": {"terminated"},
		"agent": {"cto"}, "type": {"review"}, "fingerprint": {"status #: \"x\""}, "from": {"24h"}, "limit": {"5"},
		"q": {`agent:cso overloaded "status:429" id:t-1`},
	}
	got, err := dlqtriage.ParseEntryFilter(v, noon)
	want := dlqtriage.EntryFilter{
		Statuses: []dlqtriage.Status{"deferred", "open"}, Categories: []dlqtriage.Category{"transient"}, Details: []string{dlqtriage.Empty},
		Kinds: []dlqtriage.Kind{"resource"}, Paths: []dlqtriage.Path{"terminated"}, Agents: []string{"cso", "cto"}, Types: []string{"review"},
		Fingerprints: []string{"status #: \"x\""}, IDs: []string{"t-1"}, Words: []string{"overloaded", "status:429"},
		From: lifecycle.MicrosOf(noon.Add(-24 * time.Hour)),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("read: %+v, %v; want %+v", got, err, want)
	}
	again, err := dlqtriage.ParseEntryFilter(got.Values(), noon)
	if err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("written and read again: %+v, %v; want %+v", again, err, got)
	}
}

func TestAFilterOfEntriesRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, v := range []url.Values{
		{"status": {"closed"}}, {"category": {"odd"}}, {"kind": {"odd"}}, {"path": {"odd"}}, {"from": {"soon"}}, {"q": {"status:closed"}}, {"q": {`"open`}},
	} {
		var wrong *lifecycle.FilterError
		if f, err := dlqtriage.ParseEntryFilter(v, noon); !errors.As(err, &wrong) {
			t.Errorf("%v: read as %+v, %v; want a FilterError", v, f, err)
		}
	}
}

func FuzzEntryFilter(f *testing.F) {
	f.Add("agent:cto", "open", "a b", "status # \"x\"")
	f.Fuzz(func(t *testing.T, q, status, agent, fingerprint string) {
		first, err := dlqtriage.ParseEntryFilter(url.Values{"q": {q}, "status": {status}, "agent": {agent}, "fingerprint": {fingerprint}}, noon)
		if err != nil {
			return
		}
		second, err := dlqtriage.ParseEntryFilter(first.Values(), noon)
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Errorf("%+v is read back as %+v, %v", first, second, err)
		}
	})
}
