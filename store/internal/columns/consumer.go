package columns

import (
	"bytes"
	"cmp"
	"encoding/gob"

	"fleetglass/lifecycle"
)

// EncodeConsumer writes the state of a consumer into one column.
func EncodeConsumer(c lifecycle.ConsumerState) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(c)
	return b.Bytes(), err
}

// Consumer reads what [EncodeConsumer] wrote.
func Consumer(b []byte) (c lifecycle.ConsumerState, err error) {
	err = gob.NewDecoder(bytes.NewReader(b)).Decode(&c)
	return c, err
}

// CompareConsumers orders by stream, then name.
func CompareConsumers(a, b lifecycle.ConsumerState) int {
	return cmp.Or(a.Stream.Compare(b.Stream), cmp.Compare(a.Name, b.Name))
}
