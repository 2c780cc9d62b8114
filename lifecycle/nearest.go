package lifecycle

import (
	"fmt"
	"slices"
	"strings"
)

// CheckChoice errors where a value is none of the choices, and names them.
func CheckChoice(value, what string, choices []string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("%q is not %s%s Choose one of %s", value, what, didYouMean(nearest(value, choices)), strings.Join(choices, ", "))
}

// asChoice is the choice that is written as pages write it ("dead-lettered", "Outcome unknown"); the value itself where there is none.
func asChoice(value string, choices []string) string {
	if written := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(value)); slices.Contains(choices, written) {
		return written
	}
	return value
}

func didYouMean(name string) string {
	if name == "" {
		return "."
	}
	return "; did you mean " + name + "?"
}

// nearest is the choice that somebody who typed text most likely meant; empty where none is near.
func nearest(text string, choices []string) string {
	best, least := "", min(len(text)/2+1, 3)
	for _, c := range choices {
		n := distance(strings.ToLower(text), c)
		if len(text) > 2 && strings.HasPrefix(c, strings.ToLower(text)) {
			n = 0
		}
		if n < least && n <= len(c)/2 {
			best, least = c, n
		}
	}
	return best
}

// maxNear bounds the texts that are compared: nobody mistypes a longer name so that it could be guessed.
const maxNear = 32

// distance is how many bytes have to be changed, put in or left out to make b of a (Levenshtein).
func distance(a, b string) int {
	if len(a) > maxNear {
		return maxNear
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
