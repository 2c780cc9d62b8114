package columns

import (
	"strings"

	"fleetglass/lifecycle"
)

// wordBreak parts the texts of a search. Text in lower case is valid UTF-8 and never holds this byte.
const wordBreak = "\xff"

// Words joins the texts that a search looks through into one column. A word that is looked for never spans two of them.
func Words(texts []string) []byte { return []byte(strings.Join(texts, wordBreak)) }

// Word is a word of a filter in the form in which [Words] holds it.
func Word(word string) []byte { return []byte(strings.ToLower(word)) }

// Anomalies writes codes so that each of them is found by [Anomaly]; no text for none.
func Anomalies(codes []lifecycle.AnomalyCode) string {
	if len(codes) == 0 {
		return ""
	}
	var b strings.Builder
	for _, c := range codes {
		b.WriteString("," + string(c))
	}
	return b.String() + ","
}

// Anomaly is a code in the form in which [Anomalies] holds it.
func Anomaly(code lifecycle.AnomalyCode) string { return "," + string(code) + "," }

// SplitIDs parts the ids of a filter: those that are whole, and the beginnings, which end in "*" there.
func SplitIDs(ids []string) (whole, beginnings []string) {
	for _, id := range ids {
		if beginning, ok := strings.CutSuffix(id, "*"); ok {
			beginnings = append(beginnings, beginning)
		} else {
			whole = append(whole, id)
		}
	}
	return whole, beginnings
}

// PrefixEnd is the smallest text that sorts after every text beginning with prefix; empty when there is none.
func PrefixEnd(prefix string) string {
	for n := len(prefix); n > 0; n-- {
		if last := prefix[n-1]; last < 0xff {
			return prefix[:n-1] + string([]byte{last + 1})
		}
	}
	return ""
}
