// Package situations tells what a real broker and real fleets do, and holds Fleetglass to what may be said of it. Every row is a test: plain
// clients, which use no code of Fleetglass, act on a real broker; then the public answers of the program are compared with what may and
// what must never be said. The package holds tests only; docs/situations.md describes them.
package situations
