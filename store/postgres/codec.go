package postgres

import (
	"crypto/sha256"
	"encoding/binary"
)

const (
	longestKey = 255                      // Bytes; Postgres refuses rows of an index above 2,704.
	keptOfID   = longestKey - sha256.Size // Bytes of a longer id that its key begins with.
)

// taskKey is the id of a task in a form that fits into an index: itself, or its beginning and a digest.
func taskKey(task string) []byte {
	if len(task) < longestKey {
		return []byte(task)
	}
	return append([]byte(task[:keptOfID]), digest(task)...)
}

// digest is a fingerprint of texts; where one ends and the next begins matters.
func digest(texts ...string) []byte {
	var all []byte
	for _, t := range texts {
		all = binary.AppendUvarint(all, uint64(len(t)))
		all = append(all, t...)
	}
	sum := sha256.Sum256(all)
	return sum[:]
}
