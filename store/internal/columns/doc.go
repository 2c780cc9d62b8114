// Package columns is how both stores keep values in columns of a database, and how they read a filter: what the two would otherwise say
// twice. It knows no SQL and no driver.
package columns
