package columns

import (
	"strings"

	"fleetglass/dlqtriage"
)

// EntryValues is a column of entries and the values of which a row must have one, or must have none.
type EntryValues struct {
	Column string
	Values []string
	Not    bool
}

// EntryConditions are the columns by which a filter selects entries with plain equality; all of them must hold.
func EntryConditions(f dlqtriage.EntryFilter) []EntryValues {
	var out []EntryValues
	add := func(column string, is, not []string) {
		if len(is) > 0 {
			out = append(out, EntryValues{Column: column, Values: is})
		}
		if len(not) > 0 {
			out = append(out, EntryValues{Column: column, Values: not, Not: true})
		}
	}
	n := f.Not
	add("status", entryTexts(f.Statuses), entryTexts(n.Statuses))
	add("category", entryTexts(f.Categories), entryTexts(n.Categories))
	add("detail", entryTexts(f.Details), entryTexts(n.Details))
	add("kind", entryTexts(f.Kinds), entryTexts(n.Kinds))
	add("path", entryTexts(f.Paths), entryTexts(n.Paths))
	add("agent", entryTexts(f.Agents), entryTexts(n.Agents))
	add("type", entryTexts(f.Types), entryTexts(n.Types))
	add("fingerprint", entryTexts(f.Fingerprints), entryTexts(n.Fingerprints))
	return out
}

func entryTexts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		if v != dlqtriage.Empty {
			out[i] = string(v)
		}
	}
	return out
}

// EntryWords is what a search looks through of an entry.
func EntryWords(e *dlqtriage.Entry) []byte {
	texts := []string{e.ID, e.TaskID, e.MessageID, e.Title, e.Reason}
	for i, t := range texts {
		texts[i] = strings.ToLower(t)
	}
	return Words(texts)
}

// EntryPage puts rows that were read in the direction of the request, one more than its limit where there are more, into list order, and says
// what is around them.
func EntryPage(rows []dlqtriage.Entry, p dlqtriage.EntryPageRequest) dlqtriage.EntryPage {
	more := len(rows) > p.Limit
	rows = rows[:min(len(rows), p.Limit)]
	var far, near *dlqtriage.EntryCursor
	if n := len(rows); n > 0 {
		if more {
			far = rows[n-1].Cursor()
		}
		if p.From != nil {
			near = rows[0].Cursor()
		}
	}
	if !p.Backward {
		return dlqtriage.EntryPage{Entries: rows, Next: far, Prev: near}
	}
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
	return dlqtriage.EntryPage{Entries: rows, Next: near, Prev: far}
}

// GroupColumns are the columns by which entries are grouped, as SQL lists them.
func GroupColumns(by []dlqtriage.GroupField) string {
	names := make([]string, len(by))
	for i, field := range by {
		names[i] = "e." + string(field)
	}
	return strings.Join(names, ", ")
}
