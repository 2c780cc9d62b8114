package access

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestATokenThatCanBeGuessedIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", strings.Repeat(" ", 40), "a token with blanks in it, and long enough", strings.Repeat("x", 40) + "\n", "\t" + strings.Repeat("q8Zr1", 9),
		strings.Repeat("a", 200), strings.Repeat("0", 64), strings.Repeat("ab", 40), strings.Repeat("secret", 10), strings.Repeat("changeme", 4),
		"0123456789abcdef0123456789abcdef", "abcdefghijklmnopqrstuvwxyzabcdefghijkl", "9876543210987654321098765432109876543210",
		"a-token-from-the-environment", "correct-horse-battery-staple", "Fleetglass-Production-2026!", "this-is-my-secret-token-please",
		"hunter2-hunter2-hunter2-hunter2", "3f2a9c01b7", "12345678901234567890123456789012",
	} {
		if err := CheckSecret(text); !errors.Is(err, ErrGuessable) {
			t.Errorf("CheckSecret(%q): got %v, want that it can be guessed (%.0f bits)", text, err, entropy(text))
		}
	}
}

func TestWhatGeneratorsWriteIsTaken(t *testing.T) {
	t.Parallel()
	generators := map[string]func(*rand.Rand) string{
		"openssl rand -hex 16":    func(r *rand.Rand) string { return hex.EncodeToString(random(r, 16)) },
		"openssl rand -hex 32":    func(r *rand.Rand) string { return hex.EncodeToString(random(r, 32)) },
		"openssl rand -base64 16": func(r *rand.Rand) string { return base64.StdEncoding.EncodeToString(random(r, 16)) },
		"22 letters and digits":   func(r *rand.Rand) string { return base64.RawURLEncoding.EncodeToString(random(r, 16)) },
		"fleetglass token":        func(*rand.Rand) string { text, _ := NewToken("a", nil, time.Time{}); return text },
	}
	for name, generate := range generators {
		r, refused := rand.New(rand.NewPCG(1, 2)), 0
		for range 2000 {
			if CheckSecret(generate(r)) != nil {
				refused++
			}
		}
		if refused > 20 { // One in a hundred of the shortest that may be.
			t.Errorf("%s: %d of 2000 are refused", name, refused)
		}
	}
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.UintN(256))
	}
	return b
}
