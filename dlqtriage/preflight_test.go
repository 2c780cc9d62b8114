package dlqtriage

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPreflightJudgesByTheModelsBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   PreflightRequest
		want Preflight
	}{
		{PreflightRequest{Model: "claude-opus-4-1", Tokens: 144_000}, Preflight{PreflightOK, "claude-opus-4-1", 144_000, 180_000, "it fits"}},
		{PreflightRequest{Model: "claude-opus-4-1", Tokens: 144_001}, Preflight{PreflightWarn, "claude-opus-4-1", 144_001, 180_000, "144001 of 180000 tokens are used before the work begins: leave out what is not needed"}},
		{PreflightRequest{Model: "claude-opus-4-1", Tokens: 180_000}, Preflight{PreflightWarn, "claude-opus-4-1", 180_000, 180_000, "180000 of 180000 tokens are used before the work begins: leave out what is not needed"}},
		{PreflightRequest{Model: "claude-opus-4-1", Tokens: 180_001}, Preflight{PreflightRefuse, "claude-opus-4-1", 180_001, 180_000, "split into 2 subtasks or compress"}},
		{PreflightRequest{Model: "claude-opus-4-1", Tokens: 252_000}, Preflight{PreflightRefuse, "claude-opus-4-1", 252_000, 180_000, "split into 2 subtasks or compress"}},
		{PreflightRequest{Model: "gpt-5", Tokens: 210_001}, Preflight{PreflightRefuse, "gpt-5", 210_001, 150_000, "split into 3 subtasks or compress"}},
		{PreflightRequest{Model: "of-our-own", Tokens: 150_001}, Preflight{PreflightRefuse, "of-our-own", 150_001, 150_000, "split into 2 subtasks or compress"}},
		{PreflightRequest{Agent: "marketing", Tokens: 1}, Preflight{PreflightOK, "claude-sonnet-4-5", 1, 180_000, "it fits"}},
		{PreflightRequest{Model: "gpt-5", Payload: "hello world"}, Preflight{PreflightOK, "gpt-5", 2, 150_000, "it fits"}},
	} {
		got, err := DefaultPolicy().Preflight(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.in, diff)
		}
	}
}

func TestTokensAreCountedAsTheEncodingSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "hello world": 2, "The quick brown fox jumps over the lazy dog.": 10, "tiktoken is great!": 6, "お誕生日おめでとう": 8,
	} {
		if got, err := DefaultPolicy().CountTokens("gpt-4o", text); err != nil || got != want {
			t.Errorf("%q: got %d %v, want %d", text, got, err, want)
		}
	}
}

func TestNoTextIsCostlyToCount(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, text := range map[string]string{
		"one letter": strings.Repeat("a", size), "blanks": strings.Repeat(" ", size), "kanji": strings.Repeat("生", size/3), "no text": strings.Repeat("\xff", size),
		"words": strings.Repeat("lorem ipsum ", size/12),
	} {
		begin := time.Now()
		n, err := DefaultPolicy().CountTokens("gpt-5", text)
		if err != nil || n < size/200 {
			t.Errorf("%s: %d tokens, %v", name, n, err)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s: %s for a megabyte", name, took)
		}
	}
}
