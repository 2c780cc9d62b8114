package columns

import (
	"fleetglass/lifecycle"
)

// End is a comparison with one end of bounds, as SQL writes it.
type End struct {
	Op string
	At int64
}

// Ends are the comparisons that must all hold.
func Ends(b lifecycle.Bounds) (out []End) {
	if b.Least.Set {
		out = append(out, End{Op: operator(">", b.Least.Open), At: b.Least.At})
	}
	if b.Most.Set {
		out = append(out, End{Op: operator("<", b.Most.Open), At: b.Most.At})
	}
	return out
}

func operator(sign string, open bool) string {
	if open {
		return sign
	}
	return sign + "="
}

// Place is where a filter says that a message is.
type Place struct {
	stream string
	Seq    uint64
}

// PlaceOf reads a value of [lifecycle.Filter.Messages]; the place zero, at which no message is, where it is none.
func PlaceOf(text string) Place {
	key, err := lifecycle.ParseMessageKey(text)
	if err != nil {
		return Place{}
	}
	return Place{stream: key.Stream.String(), Seq: key.Seq}
}

// In reports whether a stream is meant: by its whole name, or by the name that all its incarnations share.
func (p Place) In(stream lifecycle.StreamID) bool {
	return p.stream == stream.String() || p.stream == stream.Name
}
