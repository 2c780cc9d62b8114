// Package torture proves that nothing is lost, nothing counted twice and nothing invented, whatever fails: a fleet of agents with a
// ledger of its own works in another process while Fleetglass, its broker and its database are killed, frozen, cut off and starved; then
// every task of the ledger is compared with what Fleetglass says about it. The package holds tests only; docs/torture.md describes them.
package torture
