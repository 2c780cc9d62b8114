package fleet

import (
	"slices"
	"strings"
)

// SubjectMatches reports whether a subject without wildcards falls under a pattern, such as a consumer's filter.
func SubjectMatches(pattern, subject string) bool { return subjectsOverlap(pattern, subject) }

// FiltersMeet reports whether two consumers may take one message. One without filters takes all.
func FiltersMeet(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return subjectsOverlap(x, y) })
	})
}

// SubjectCovers reports whether every subject under one pattern falls under another.
func SubjectCovers(pattern, other string) bool {
	for {
		x, restX, moreX := strings.Cut(pattern, ".")
		y, restY, moreY := strings.Cut(other, ".")
		switch {
		case x == ">":
			return true
		case y == ">" || x != y && x != "*":
			return false
		case !moreX || !moreY:
			return moreX == moreY
		}
		pattern, other = restX, restY
	}
}

// overlap finds the first pair of patterns that some subject matches both of.
func overlap(a, b []string) (x, y string, found bool) {
	for _, x := range a {
		for _, y := range b {
			if subjectsOverlap(x, y) {
				return x, y, true
			}
		}
	}
	return "", "", false
}

func subjectsOverlap(a, b string) bool {
	for {
		x, restA, moreA := strings.Cut(a, ".")
		y, restB, moreB := strings.Cut(b, ".")
		switch {
		case x == ">" || y == ">":
			return true
		case x != y && x != "*" && y != "*":
			return false
		case !moreA || !moreB:
			return moreA == moreB
		}
		a, b = restA, restB
	}
}
