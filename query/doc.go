// Package query answers the questions about the fleet, each in one place: pages, the JSON API, the metrics and whatever comes later ask
// here, so that they cannot disagree. A question reads the store, applies the rules of the domains and gives a plain value. Presenting
// it, and deciding who may ask, is left to those who ask.
//
// Answers about now are shared for a moment; how long stands beside each question. They are read-only: several readers hold the same
// value.
package query
