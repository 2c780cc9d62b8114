package access

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// leastEntropy is how many bits of entropy a token must have; one with fewer can be found by trying.
const leastEntropy = 128

// ErrGuessable is what [CheckSecret] says of a token that can be guessed.
var ErrGuessable = errors.New("can be guessed")

// CheckSecret errors with [ErrGuessable] when a token in clear text can be guessed: it has blanks, repeats itself, counts up, consists of
// words, or is too short. The estimate is a rough one and lenient: it stops what people type, and takes what a generator of 128 random
// bits writes.
func CheckSecret(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return fmt.Errorf("%w: it has blanks or control characters in it", ErrGuessable)
	}
	if bits := entropy(text); bits < leastEntropy {
		return fmt.Errorf("%w: it has about %.0f bits of entropy, fewer than %d", ErrGuessable, bits, leastEntropy)
	}
	return nil
}

// entropy estimates the bits that somebody must guess who knows which characters are in use. It counts the characters that do not
// follow from those before them.
func entropy(text string) float64 {
	perCharacter := math.Log2(alphabet(text))
	if mostlyWords(text) {
		perCharacter = min(perCharacter, wordBits)
	}
	return float64(unforeseen(text)) * perCharacter
}

// wordBits is what a letter of running text tells (Shannon, "Prediction and Entropy of Printed English", with short context).
const wordBits = 2.5

// alphabet is the number of characters of the smallest usual alphabet that has all of the text's.
func alphabet(text string) float64 {
	if strings.Trim(text, "0123456789") == "" {
		return 10
	}
	if plain := strings.ReplaceAll(text, "-", ""); strings.Trim(plain, "0123456789abcdef") == "" || strings.Trim(plain, "0123456789ABCDEF") == "" {
		return 16
	}
	if strings.ContainsFunc(text, lower) && strings.ContainsFunc(text, upper) {
		return 64 // Base64, also where chance left the digits out.
	}
	size := 0.0
	for _, class := range []struct {
		has  func(rune) bool
		size float64
	}{{lower, 26}, {upper, 26}, {digit, 10}, {other, 32}} {
		if strings.ContainsFunc(text, class.has) {
			size += class.size
		}
	}
	return size
}

func lower(r rune) bool { return r >= 'a' && r <= 'z' }
func upper(r rune) bool { return r >= 'A' && r <= 'Z' }
func digit(r rune) bool { return r >= '0' && r <= '9' }
func other(r rune) bool { return !lower(r) && !upper(r) && !digit(r) }

// wordLength is from how many letters on a run of one case is taken for a word. Random text has few of them.
const wordLength = 5

// mostlyWords reports whether more than half of the text stands in runs of letters of one case that may be words.
func mostlyWords(text string) bool {
	inWords := 0
	for _, class := range []func(rune) bool{lower, upper} {
		for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !class(r) }) {
			if len(run) >= wordLength {
				inWords += len(run)
			}
		}
	}
	return alphabet(text) > 16 && inWords*2 > len(text)
}

// Patterns shorter than this are in random text too; and so many characters of random text look like one.
const (
	patternLength = 4
	byChance      = 4
)

// unforeseen counts the characters that do not go on with something: a run of equal or neighbouring characters, or text that was there
// before.
func unforeseen(text string) int {
	n := 0
	for i := range len(text) {
		if !goesOn(text, i) {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return min(len(text), n+byChance)
}

// goesOn reports whether the characters up to i end a pattern.
func goesOn(text string, i int) bool {
	begin := i + 1 - patternLength
	if begin < 0 {
		return false
	}
	pattern := text[begin : i+1]
	if strings.Contains(text[:i], pattern) {
		return true
	}
	step := int(pattern[1]) - int(pattern[0])
	if step < -1 || step > 1 {
		return false
	}
	for k := 2; k < len(pattern); k++ {
		if int(pattern[k])-int(pattern[k-1]) != step {
			return false
		}
	}
	return true
}
