package dlqtriage

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const briefPayload = `{"taskId":"t-1","type":"content_creation","assignee":"marketing","seq":12345678901234567890,"payload":{"b":1,"a":[1,2]},"instructions":["Write well."]}`

func TestModificationsAreWrittenIntoThePayload(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, c := range []struct {
		name string
		to   Rewrite
		want string
		diff []Difference
	}{
		{"nothing", Rewrite{}, briefPayload, []Difference{}},
		{"overflow", Rewrite{Model: "gpt-5", Modifications: []Modification{{Type: ModifyCompress, MaxTokens: 80000}, {Type: ModifyFocus, Text: "Focus."}}},
			`{"taskId":"t-1","type":"content_creation","assignee":"marketing","seq":12345678901234567890,"payload":{"b":1,"a":[1,2]},"instructions":["Write well.","Focus."],"model":"gpt-5","max_context_tokens":80000}`,
			[]Difference{{OpAdd, "/instructions/1", raw("null"), raw(`"Focus."`)}, {OpAdd, "/max_context_tokens", raw("null"), raw("80000")}, {OpAdd, "/model", raw("null"), raw(`"gpt-5"`)}}},
		{"loop", Rewrite{Agent: "cto", Version: 2, Modifications: []Modification{{Type: ModifyPreviousError, Text: "<b>"}, {Type: ModifyValidate}}},
			`{"taskId":"t-1","type":"content_creation","assignee":"cto","seq":12345678901234567890,"payload":{"b":1,"a":[1,2]},"instructions":["Write well."],"version":2,"previous_error":"\u003cb\u003e","validate_output":true}`,
			[]Difference{{OpReplace, "/assignee", raw(`"marketing"`), raw(`"cto"`)}, {OpAdd, "/previous_error", raw("null"), raw(`"\u003cb\u003e"`)},
				{OpAdd, "/validate_output", raw("null"), raw("true")}, {OpAdd, "/version", raw("null"), raw("2")}}},
		{"budget", Rewrite{Modifications: []Modification{{Type: ModifyLimitOutput, Share: 0.6}, {Type: ModifyConcise, Text: "Write well."}}}, briefPayload, []Difference{}},
		{"budget known", Rewrite{Modifications: []Modification{{Type: ModifyLimitOutput, Share: 0.6, MaxTokens: 30}}},
			briefPayload[:len(briefPayload)-1] + `,"max_output_tokens":30}`, []Difference{{OpAdd, "/max_output_tokens", raw("null"), raw("30")}}},
	} {
		got, diff, err := ModifyPayload([]byte(briefPayload), c.to)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if string(got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if d := cmp.Diff(c.diff, diff); d != "" {
			t.Errorf("%s, differences (-want +got):\n%s", c.name, d)
		}
	}
}

func TestAPayloadThatIsNoObjectIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "plain text", "[1]", `"a"`, `{"a":1`, `{"a":1} x`, `{"a":1}{}`, `{"a"}`, "\xff\xfe"} {
		if _, _, err := ModifyPayload([]byte(body), Rewrite{Model: "gpt-5"}); !errors.Is(err, ErrNotAnObject) {
			t.Errorf("%q: got %v", body, err)
		}
		if got, diff, err := ModifyPayload([]byte(body), Rewrite{}); err != nil || string(got) != body || len(diff) != 0 {
			t.Errorf("%q without a change: got %q %v %v", body, got, diff, err)
		}
	}
}

func TestDifferencesOfPayloads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after, want string }{
		{`{"a":1, "b":{"c":[1,2]}}`, `{"b":{"c":[1,2]},"a":1}`, `[]`},
		{`{"a":1}`, `{"a":1.0}`, `[{"op":"replace","path":"/a","before":1,"after":1.0}]`},
		{`{"a":1}`, `{"a":null}`, `[{"op":"replace","path":"/a","before":1,"after":null}]`},
		{`{"a/b":{"~":1}}`, `{"a/b":{}}`, `[{"op":"remove","path":"/a~1b/~0","before":1,"after":null}]`},
		{`{"l":[1,2,3]}`, `{"l":[1,4]}`, `[{"op":"replace","path":"/l/1","before":2,"after":4},{"op":"remove","path":"/l/2","before":3,"after":null}]`},
		{`{"a":{"b":1}}`, `{"a":[1]}`, `[{"op":"replace","path":"/a","before":{"b":1},"after":[1]}]`},
		{`text`, `other`, `[{"op":"replace","path":"","before":"text","after":"other"}]`},
		{`{}`, `{`, `[{"op":"replace","path":"","before":{},"after":"{"}]`},
	} {
		got, err := json.Marshal(DiffPayload([]byte(c.before), []byte(c.after)))
		if err != nil || string(got) != c.want {
			t.Errorf("%s to %s:\n got %s %v\nwant %s", c.before, c.after, got, err, c.want)
		}
	}
}

// Whatever an object holds: what is not named stays, and writing twice is writing once.
func TestModifyingKeepsTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.MapOf(rapid.String(), rapid.OneOf(rapid.Int().AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny())).Draw(t, "payload")
		body, err := json.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		to := Rewrite{Agent: "cto", Modifications: []Modification{{Type: ModifyCompress, MaxTokens: 80000}, {Type: ModifyConcise, Text: "Be concise."}}}
		once, _, err := ModifyPayload(body, to)
		if err != nil {
			t.Fatal(err)
		}
		twice, diff, err := ModifyPayload(once, to)
		if err != nil || string(once) != string(twice) || len(diff) != 0 {
			t.Fatalf("once %s, twice %s %v %v", once, twice, diff, err)
		}
		for _, d := range DiffPayload(body, once) {
			switch d.Path {
			case "/assignee", "/max_context_tokens", "/instructions", "/instructions/0":
			default:
				t.Fatalf("%s differs: %s", d.Path, once)
			}
		}
	})
}
