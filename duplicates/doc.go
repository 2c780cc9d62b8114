// Package duplicates holds the statistics of duplicates (SPEC 4): the table over time, what protection against duplicates costs and
// saves, and whether idempotency records are kept long enough. What makes a duplicate of one task is a rule of package lifecycle,
// which counts it in the rollups that this package adds up.
package duplicates
