package views

import (
	"fmt"
	"strings"
	"testing"
)

// sides writes rows for comparing: what stands left and right, and how many lines are left out.
func sides(d MessageDiff) string {
	var out []string
	for _, r := range d.Rows {
		if r.Skipped > 0 {
			out = append(out, fmt.Sprintf("… %d", r.Skipped))
			continue
		}
		out = append(out, fmt.Sprintf("%s %s | %s %s", r.Left.Kind, r.Left.Text, r.Right.Kind, r.Right.Text))
	}
	return strings.Join(out, "\n")
}

func TestTwoMessagesStandBesideEachOther(t *testing.T) {
	t.Parallel()
	before := MessageText{Subject: "a.b", Headers: []Param{{"X-Kind", "one"}, {"X-Task-ID", "t1"}}, Body: []byte(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}`)}
	after := before
	after.Headers = []Param{{"X-Kind", "two"}, {"X-Retry-Of", "TASKS:7"}, {"X-Task-ID", "t1"}}
	after.Body = []byte(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":9}`)
	want := strings.Join([]string{
		"same Subject: a.b | same Subject: a.b",
		"del X-Kind: one | add X-Kind: two",
		"  | add X-Retry-Of: TASKS:7",
		"same X-Task-ID: t1 | same X-Task-ID: t1", "same  | same ", "same { | same {",
		"… 4",
		`same   "e": 5, | same   "e": 5,`, `same   "f": 6, | same   "f": 6,`, `same   "g": 7, | same   "g": 7,`,
		`del   "h": 8 | add   "h": 9`,
		"same } | same }",
	}, "\n")
	got := CompareMessages(before, after)
	if text := sides(got); text != want || got.Same {
		t.Errorf("got %t\n%s\nwant\n%s", got.Same, text, want)
	}
	if !got.Rows[2].Right.Locked || got.Rows[1].Left.Locked {
		t.Errorf("locked: %+v", got.Rows[:3])
	}
	if same := CompareMessages(before, before); !same.Same || len(same.Rows) != 0 {
		t.Errorf("equal messages: %+v", same)
	}
}

func TestALineOfAMessageCannotLookLikeAnother(t *testing.T) {
	t.Parallel()
	hostile := MessageText{Subject: "a.b", Headers: []Param{{"X-A", "b\nX-Task-ID: t2"}}}
	if text, _ := hostile.lines(); strings.Count(text, "\n") != 4 {
		t.Errorf("%q has %d lines", text, strings.Count(text, "\n"))
	}
}
