package dlqtriage

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// object is a JSON object whose keys keep their order and whose values keep their bytes.
type object struct {
	keys   []string
	values map[string]json.RawMessage
}

// decodeObject errors with [ErrNotAnObject]. Where a key is there twice the last value counts, as for every reader of JSON.
func decodeObject(text []byte) (*object, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, ErrNotAnObject
	}
	o := &object{values: map[string]json.RawMessage{}}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, ErrNotAnObject
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, ErrNotAnObject
		}
		o.put(key.(string), value)
	}
	if _, err := d.Token(); err != nil {
		return nil, ErrNotAnObject
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, ErrNotAnObject
	}
	return o, nil
}

func (o *object) put(key string, value json.RawMessage) {
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// set writes a text, a number, a truth value or a list of what was decoded from JSON.
func (o *object) set(key string, value any) {
	text, _ := json.Marshal(value) // Such values can always be written.
	o.put(key, text)
}

// encode writes the object with its keys in their order.
func (o *object) encode() []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(key)
		b.Write(name)
		b.WriteByte(':')
		b.Write(o.values[key])
	}
	b.WriteByte('}')
	return b.Bytes()
}
