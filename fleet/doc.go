// Package fleet is the wire contract of the observed fleet (SPEC 1): subjects, headers, stream and consumer configuration, the
// records that agents keep, and how each is read leniently when foreign programs wrote it. It provisions the broker, and it
// holds the small kit that makes a Go agent correct: a publisher, a worker and a reporter.
package fleet
