package postgres

import (
	"context"
	"slices"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
)

// givenBy is the condition that one of the publishers published a message of the task, within the bounds.
func (c *conditions) givenBy(publishers []string, within lifecycle.Bounds) string {
	return "EXISTS (SELECT FROM messages m WHERE m.task = t.id AND " + c.given(publishers, within) + ")"
}

// given is the condition that one of the publishers published the message m, within the bounds.
func (c *conditions) given(publishers []string, within lifecycle.Bounds) string {
	short := make([][]byte, len(publishers))
	for i, p := range publishers {
		short[i] = beginning(p)
	}
	terms := []string{"m.publisher <> ''", "substring(m.publisher, 1, 64) = ANY(" + c.arg(short) + ")"}
	if slices.ContainsFunc(publishers, cut) {
		terms = append(terms, "m.publisher = ANY("+c.arg(byteTexts(publishers))+")")
	}
	for _, end := range columns.Ends(within) {
		terms = append(terms, "m.given "+end.Op+" "+c.arg(end.At))
	}
	return strings.Join(terms, " AND ")
}

// fewGiven is the number of messages up to which the tasks of publishers are found by them, so that no list has to stop on its way.
const fewGiven = 1000

// foundByPublisher reports whether the publishers of the filter published so few messages.
func foundByPublisher(ctx context.Context, q querier, f lifecycle.Filter) (bool, error) {
	if len(f.Publishers) == 0 {
		return false, nil
	}
	var c conditions
	query := "SELECT count(*) FROM (SELECT FROM messages m WHERE " + c.given(f.Publishers, f.Published) + " LIMIT " + c.arg(fewGiven+1) + ") m"
	var n int64
	err := q.QueryRow(ctx, query, c.args...).Scan(&n)
	return n <= fewGiven, err
}
