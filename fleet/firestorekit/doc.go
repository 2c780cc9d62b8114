// Package firestorekit is the part of the kit for agents that keeps what a fleet must remember in Firestore (SPEC 1): records of
// completions, reservations, and the log of side effects. Records and reservations are ports of package fleet, so that a worker takes
// them in place of those in the broker's bucket.
package firestorekit
