// Package firestoretest is an in-memory server of google.firestore.v1 for tests, reached through the real client over gRPC: documents
// with every revision, queries, transactions, listeners with resume tokens, and faults on demand. Unlike Google's emulator it refuses
// queries whose index firestore.indexes.json does not declare, and it needs no Java. One conformance suite runs against both.
package firestoretest
