// Package decision is the transaction by which somebody decides: what was decided, who decided it, and what follows from it are committed
// together, beside the facts that it changes. Triage, alerts and actions on messages in flight stand on it.
//
// A decision goes this way: [Decider.Decide] checks the revision of its subject and commits events, action, audit records and effects. A
// relay takes effects by [Outbox.Claim], does them in the world, and reports back by [Outbox.Settle], which commits the outcome and what
// follows from it in the same manner. Who dies in between leaves an effect whose lease ends; the next claim takes it over.
package decision
