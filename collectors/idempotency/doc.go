// Package idempotency reads the records that agents keep about completed tasks (SPEC 1): proof that a task has had its effect. A record
// that goes away never takes history with it.
package idempotency
