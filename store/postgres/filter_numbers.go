package postgres

import (
	"fmt"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
)

// allBounds asks for what is compared.
func (c *conditions) allBounds(f lifecycle.Filter) {
	c.bounds("t.attempt", f.Attempt)
	if f.AsksCost() { // What was not reported is not zero.
		c.residual("t.cost > 0")
		c.bounds("t.cost", f.Cost)
	}
	if f.Published.Asked() && len(f.Publishers) == 0 {
		c.residual("t.published <> 0")
		c.bounds("t.published", f.Published)
	}
	if f.Ran.Asked() {
		c.bounds(fmt.Sprintf("t.ran + CASE WHEN t.held = 0 THEN 0 ELSE greatest(0, %s::bigint - t.held) END", c.arg(int64(f.Ran.AsOf))), f.Ran.Bounds)
	}
}

func (c *conditions) bounds(number string, b lifecycle.Bounds) {
	for _, end := range columns.Ends(b) {
		c.residuals = append(c.residuals, number+" "+end.Op+" "+c.arg(end.At))
	}
}

// messages asks for tasks by the places of their messages, which an index finds.
func (c *conditions) messages(streams *streamTable, places []string) {
	c.terms = append(c.terms, c.hasMessage(streams, places))
}

// hasMessage is the condition that a task has a message at one of the places. The streams must have been loaded.
func (c *conditions) hasMessage(streams *streamTable, places []string) string {
	var at []string
	for _, text := range places {
		place := columns.PlaceOf(text)
		for _, id := range streams.meant(place) {
			at = append(at, "("+c.arg(id)+"::integer, "+c.arg(int64(place.Seq))+"::bigint)")
		}
	}
	if len(at) == 0 {
		return "false"
	}
	return "(t.id = ANY(ARRAY(SELECT m.task FROM messages m WHERE (m.stream, m.seq) IN (" + strings.Join(at, ", ") + "))))"
}
