package postgres

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"fleetglass/lifecycle"
)

// conditions is the part of a query that selects tasks, with its arguments.
type conditions struct {
	terms []string
	args  []any
}

// arg adds an argument and returns its placeholder.
func (c *conditions) arg(v any) string {
	c.args = append(c.args, v)
	return fmt.Sprintf("$%d", len(c.args))
}

func (c *conditions) and(format string, values ...any) {
	places := make([]any, len(values))
	for i, v := range values {
		places[i] = c.arg(v)
	}
	c.terms = append(c.terms, fmt.Sprintf(format, places...))
}

func (c *conditions) where() string { return strings.Join(c.terms, " AND ") }

// conditionsOf writes a filter as conditions on tasks t, but for its states and agents, which also choose the index. Where it asks for
// streams they must have been loaded.
func (s *Store) conditionsOf(f lifecycle.Filter) *conditions {
	c := &conditions{terms: []string{"t.listed"}}
	if len(f.Types) > 0 {
		c.and("t.type = ANY(%s)", byteTexts(f.Types))
	}
	if len(f.Categories) > 0 {
		c.andOneOf("t.category", f.Categories)
		if !slices.Contains(f.Categories, "") {
			c.terms = append(c.terms, "t.category <> ''")
		}
	}
	if len(f.Streams) > 0 {
		c.and("t.stream = ANY(%s)", s.streams.named(f.Streams))
	}
	if len(f.IDs) > 0 {
		c.andIDs(f.IDs)
	}
	if len(f.Anomalies) > 0 {
		c.andAnomalies(f.Anomalies)
	}
	if f.Duplicates {
		c.terms = append(c.terms, "t.duplicates > 0")
	}
	for _, word := range f.Words {
		c.and("position(%s::bytea IN t.words) > 0", []byte(strings.ToLower(word)))
	}
	if f.From.Known() {
		c.and("t.last_event >= %s", int64(f.From))
	}
	if f.To.Known() {
		c.and("t.last_event < %s", int64(f.To))
	}
	return c
}

// andOneOf asks that an untrusted column has one of the values. Indexes hold its beginning only, so that any length fits.
func (c *conditions) andOneOf(column string, values []string) {
	short := make([][]byte, len(values))
	for i, v := range values {
		short[i] = []byte(v[:min(len(v), 64)])
	}
	c.and("substring("+column+", 1, 64) = ANY(%s) AND "+column+" = ANY(%s)", short, byteTexts(values))
}

// andAnomalies asks for one of the codes.
func (c *conditions) andAnomalies(codes []lifecycle.AnomalyCode) {
	terms := make([]string, len(codes))
	for i, code := range codes {
		terms[i] = "position(" + c.arg(","+string(code)+",") + "::text IN t.anomalies) > 0"
	}
	c.terms = append(c.terms, "("+strings.Join(terms, " OR ")+")")
}

// andIDs asks for one of the ids, or of the beginnings that end in "*".
func (c *conditions) andIDs(ids []string) {
	var exact [][]byte
	var terms []string
	for _, id := range ids {
		prefix, ok := strings.CutSuffix(id, "*")
		if !ok {
			exact = append(exact, taskKey(id))
			continue
		}
		terms = append(terms, c.hasPrefix(prefix))
	}
	if len(exact) > 0 {
		terms = append(terms, "t.key = ANY("+c.arg(exact)+")")
	}
	c.terms = append(c.terms, "("+strings.Join(terms, " OR ")+")")
}

// hasPrefix is a range of keys, and the name itself where the prefix is longer than what a key keeps of it.
func (c *conditions) hasPrefix(prefix string) string {
	kept := []byte(prefix[:min(len(prefix), keptOfID)])
	term := "t.key >= " + c.arg(kept)
	if end := afterPrefix(kept); end != nil {
		term += " AND t.key < " + c.arg(end)
	}
	if len(prefix) > keptOfID {
		place := c.arg([]byte(prefix))
		term += " AND substring(t.task_id, 1, octet_length(" + place + "::bytea)) = " + place
	}
	return "(" + term + ")"
}

// afterPrefix is the least text above all that begin with prefix; nil where there is none.
func afterPrefix(prefix []byte) []byte {
	for n := len(prefix); n > 0; n-- {
		if last := prefix[n-1]; last < 0xff {
			return append(bytes.Clone(prefix[:n-1]), last+1)
		}
	}
	return nil
}

func byteTexts(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = []byte(t)
	}
	return out
}
