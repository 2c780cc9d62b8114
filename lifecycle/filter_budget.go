package lifecycle

import "fmt"

// What one filter may ask for. A database bounds the terms and the depth of a statement, and each word is looked for in every row.
const (
	MaxFilterWords  = 16   // Words that must all occur.
	MaxFilterValues = 200  // Alternatives of one field.
	MaxFilterText   = 2048 // Bytes of a word or of an alternative.
)

// CheckWords errors, with a *[FilterError], when a filter asks for more words than [MaxFilterWords] or for longer ones than [MaxFilterText].
func CheckWords(words []string) error {
	if len(words) > MaxFilterWords {
		return &FilterError{"q", fmt.Sprintf("asks for %d words; at most %d", len(words), MaxFilterWords)}
	}
	return checkTexts("q", words)
}

// CheckAlternatives errors, with a *[FilterError], when a filter has more alternatives of one field than [MaxFilterValues] or longer ones than
// [MaxFilterText].
func CheckAlternatives(field string, values []string) error {
	if len(values) > MaxFilterValues {
		return &FilterError{field, fmt.Sprintf("has %d alternatives; at most %d", len(values), MaxFilterValues)}
	}
	return checkTexts(field, values)
}

func checkTexts(field string, values []string) error {
	for _, v := range values {
		if len(v) > MaxFilterText {
			return &FilterError{field, fmt.Sprintf("has a text of %d bytes; at most %d", len(v), MaxFilterText)}
		}
	}
	return nil
}

// check errors when the filter asks for too much.
func (f Filter) check() error {
	if err := CheckWords(f.Words); err != nil {
		return err
	}
	for _, field := range filterFields {
		if field.written == nil {
			continue
		}
		if err := CheckAlternatives(field.Name, field.written(f)); err != nil {
			return err
		}
	}
	return nil
}

// Scans reports whether no index finds what the filter asks for, so that row after row is looked at.
func (f Filter) Scans() bool {
	return len(f.Words)+len(f.Types)+len(f.Streams)+len(f.Anomalies) > 0 || f.Duplicates
}
