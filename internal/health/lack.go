package health

import (
	"errors"
	"slices"
	"strings"
)

// NoStreamError says that a stream that a part needs does not exist.
type NoStreamError struct {
	Stream string
	Say    string // What is told of it, in one clause.
}

// Error is the clause.
func (e NoStreamError) Error() string { return e.Say }

// LackOf names the stream that err says does not exist; empty for another error.
func LackOf(err error) []string {
	if lack, ok := errors.AsType[NoStreamError](err); ok {
		return []string{lack.Stream}
	}
	return nil
}

// Lacking names the streams that parts which are down lack, each once, in the order of the parts.
func Lacking(parts []Part) []string {
	var out []string
	for _, p := range parts {
		if p.State != Down {
			continue
		}
		for _, name := range p.Lacks {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// LackWords say which streams the broker lacks: "the broker lacks streams TASKS and OBS_ACK".
func LackWords(streams []string) string {
	if len(streams) == 1 {
		return "the broker lacks stream " + streams[0]
	}
	last := len(streams) - 1
	return "the broker lacks streams " + strings.Join(streams[:last], ", ") + " and " + streams[last]
}

// DownWords say in one clause that the part is down: "collector acks is down", "the broker does not answer".
func (p Part) DownWords() string {
	switch {
	case len(p.Lacks) > 0:
		return LackWords(p.Lacks)
	case p.Kind == "broker" && p.Name == "nats":
		return "the broker does not answer"
	case p.Kind == "broker" && p.Name == "streams":
		return "the broker does not say which streams it has"
	case p.Kind == "store":
		return "the store is down"
	}
	return p.Words() + " is down"
}
