// Package idempotency reads the records that agents keep about completed tasks (SPEC 1), in a bucket of the broker or in Firestore: proof
// that a task has had its effect; and the logs of side effects that they keep in Firestore. A record that goes away never takes history
// with it.
package idempotency
