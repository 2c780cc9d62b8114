package lifecycle

import (
	"errors"
	"fmt"
	"slices"
)

// What one filter may ask for. A database bounds the terms and the depth of a statement, and each word is looked for in every row.
const (
	MaxFilterWords  = 16   // Words that must all occur.
	MaxFilterValues = 200  // Alternatives of one field.
	MaxFilterText   = 2048 // Bytes of a word or of an alternative.
)

// CheckWords errors, with a *[FilterError], when a filter asks for more words than [MaxFilterWords] or for longer ones than [MaxFilterText].
func CheckWords(words []string) error {
	if len(words) > MaxFilterWords {
		return &FilterError{"q", fmt.Sprintf("has %d words; at most %d are allowed", len(words), MaxFilterWords)}
	}
	return checkTexts("q", words)
}

// CheckSpan errors, with a *[FilterError], when a span ends before it begins. A bound that is not known is none.
func CheckSpan(from, to Micros) error {
	if to.Known() && from > to {
		return &FilterError{"to", "must not be before from"}
	}
	return nil
}

// CheckAlternatives errors, with a *[FilterError], when a filter has more alternatives of one field than [MaxFilterValues] or longer ones than
// [MaxFilterText].
func CheckAlternatives(field string, values []string) error {
	if len(values) > MaxFilterValues {
		return &FilterError{field, fmt.Sprintf("has %d alternatives; at most %d are allowed", len(values), MaxFilterValues)}
	}
	return checkTexts(field, values)
}

func checkTexts(field string, values []string) error {
	for _, v := range values {
		if len(v) > MaxFilterText {
			return &FilterError{field, fmt.Sprintf("has a text of %d bytes; at most %d are allowed", len(v), MaxFilterText)}
		}
	}
	return nil
}

// check errors when the filter asks for too much.
func (f Filter) check() error {
	wrong := []error{CheckWords(slices.Concat(f.Words, f.Not.Words))}
	for _, field := range filterFields {
		wrong = append(wrong, CheckAlternatives(field.Name, slices.Concat(field.written(f), field.terms(f))))
	}
	return errors.Join(append(wrong, CheckSpan(f.From, f.To))...)
}

// Scans reports whether no index finds what the filter asks for, so that row after row is looked at.
func (f Filter) Scans() bool {
	not := f.Not
	not.States = nil // The others are asked for instead ([Filter.ResolveStates]).
	return len(f.Words)+len(f.Types)+len(f.Publishers)+len(f.Streams)+len(f.Anomalies)+len(f.Layers) > 0 || f.Duplicates || not.Asked() ||
		f.Attempt.Asked() || f.AsksCost() || f.Ran.Asked() || f.Published.Asked()
}

// NeedsAnomaly reports whether only tasks with some anomaly can be meant.
func (f Filter) NeedsAnomaly() bool {
	return len(f.Anomalies) > 0 || len(f.Layers) > 0 && !slices.Contains(f.Layers, LayerStream)
}

// NamesStreams reports whether the filter asks for streams, also by the place of a message.
func (f Filter) NamesStreams() bool {
	return len(f.Streams)+len(f.Messages)+len(f.Not.Streams)+len(f.Not.Messages) > 0
}

// Asked reports whether anything is left out.
func (x Exclusion) Asked() bool {
	return len(x.States)+len(x.Agents)+len(x.Types)+len(x.Publishers)+len(x.Streams)+len(x.Categories)+len(x.IDs)+len(x.Anomalies)+len(x.Layers)+len(x.Messages)+len(x.Words) > 0 || x.Duplicates
}
