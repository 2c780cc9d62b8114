// Package query answers the questions about the fleet, each in one place. Pages, the JSON API, tools and metrics all ask here, so they
// cannot disagree. A question reads the store, applies the rules of the domains and returns a plain value. Callers present it, and
// decide who may ask.
//
// Answers about now are shared for a moment; how long stands beside each question. They are read-only: several readers hold the same
// value.
package query
