// Package crashpoints holds tests of the whole way of a task, publish, claim, execute, record, acknowledge: agents die at every point of
// it, and the duplicate ledger must say what became of the task. The broker, the collectors and the store are real; records
// and reservations are in the broker's bucket, or in Firestore as package firestoretest serves it.
package crashpoints
