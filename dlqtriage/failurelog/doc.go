// Package failurelog copies what is known of dead letters into Firestore, for fleets that query it there: one document for each entry in the
// collection failure-log, one for each hour in dlq-metrics (SPEC 5, "Statistics"). It only ever writes. A document is written again when what
// it says has changed, and after a restart; writing it twice changes nothing.
package failurelog
