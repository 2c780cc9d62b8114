package api

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A list is encoded once, for its tag and to be sent; what embeds one is sent whole.
func TestWhatWasEncodedForTheTagIsSentAsItIs(t *testing.T) {
	t.Parallel()
	list := List[Quarantined]{
		Data: []Quarantined{{ID: "1", Subject: "<script>&\u2028", Reason: "", Headers: map[string][]string{"a": {"b"}}}},
		Page: Page{Next: "c<1>"}, AsOf: 1_700_000_000_000_000, Gaps: []GapRef{},
	}
	encoded := list
	encoded.rows, _ = json.Marshal(list.Data)
	for _, tt := range []struct{ plain, once any }{
		{list, encoded}, {QuarantineList{List: list, Total: 7}, QuarantineList{List: encoded, Total: 7}},
	} {
		var want, got bytes.Buffer
		if err := json.NewEncoder(&want).Encode(tt.plain); err != nil {
			t.Fatal(err)
		}
		if err := writeJSON(&got, tt.once); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("(-encoded at once +sent):\n%s", diff)
		}
	}
}
