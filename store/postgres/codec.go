package postgres

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"maps"
	"slices"
	"strings"

	"fleetglass/lifecycle"
)

// Event ids are kept with the top bit flipped, so that signed numbers sort as the ids do.

func storedID(id lifecycle.EventID) int64 { return int64(uint64(id) ^ 1<<63) }

func loadedID(n int64) lifecycle.EventID { return lifecycle.EventID(uint64(n) ^ 1<<63) }

// span is a range of stored sequences, inclusive.
type span struct{ lo, hi int64 }

// spansOf cuts a range of sequences where their bit patterns change sign: positive ones, which are all that brokers give out, come
// first, then those from 2^63.
func spansOf(from, to uint64) []span {
	const half = uint64(1) << 63
	switch {
	case from > to:
		return nil
	case to < half || from >= half:
		return []span{{int64(from), int64(to)}}
	}
	return []span{{int64(from), int64(half - 1)}, {-1 << 63, int64(to)}}
}

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

// wordBreak separates the texts of a task in its searchable form. It never occurs in lower-cased text, which is valid UTF-8.
const wordBreak = "\xff"

// wordsOf is the searchable form of a task: its id, title and message ids in lower case.
func wordsOf(r lifecycle.TaskRow) []byte {
	texts := append([]string{r.Facts.ID, r.Summary.Title}, slices.Sorted(maps.Keys(r.Facts.Publishes))...)
	for i, t := range texts {
		texts[i] = strings.ToLower(t)
	}
	return []byte(strings.Join(slices.Compact(texts), wordBreak))
}

// anomalyList writes codes so that each of them is found as ",code,".
func anomalyList(codes []lifecycle.AnomalyCode) string {
	if len(codes) == 0 {
		return ""
	}
	var b strings.Builder
	for _, c := range codes {
		b.WriteString("," + string(c))
	}
	return b.String() + ","
}

func encodeConsumer(c lifecycle.ConsumerState) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(c)
	return b.Bytes(), err
}

func decodeConsumer(b []byte) (c lifecycle.ConsumerState, err error) {
	err = gob.NewDecoder(bytes.NewReader(b)).Decode(&c)
	return c, err
}
