package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fleetglass/fleet"
)

// Rules are what a look is judged by.
type Rules struct {
	Contract  fleet.Contract // Required.
	Shards    int            // Optional; default 1. Into how many shards Fleetglass reads the capture streams.
	Heartbeat time.Duration  // Optional; default that of [fleet.DefaultTiming]. How often workers say that they are still working.
	Consumers int            // Optional; default that of the server's version; below zero: no limit. Consumers that the server allows a stream where neither stream nor account says.
}

// trap is what a check found on one thing.
type trap struct{ resource, what, fix string }

// check is one trap that a broker may hold.
type check struct {
	code     string
	severity Severity
	title    string
	why      string
	find     func(look) []trap
}

// checks are all traps, by what they are about. docs/doctor.md lists them.
func checks() []check {
	return slices.Concat(captureChecks(), taskChecks(), consumerLimitChecks(), workerChecks(), deadLetterChecks())
}

// Traps are all that the doctor knows, as findings without a place.
func Traps() []Finding {
	var out []Finding
	for _, c := range checks() {
		out = append(out, Finding{Code: c.code, Severity: c.severity, Title: c.title, Why: c.why})
	}
	return out
}

// Examine names every trap in a look, the worst first, then by what it is about.
func (r Rules) Examine(c Cluster) []Finding {
	if r.Heartbeat <= 0 {
		r.Heartbeat = fleet.DefaultTiming().Heartbeat
	}
	r.Consumers = cmp.Or(r.Consumers, c.defaultConsumers())
	l := look{Rules: r, Cluster: c}
	var out []Finding
	for _, check := range checks() {
		for _, t := range check.find(l) {
			out = append(out, Finding{Code: check.code, Severity: check.severity, Title: check.title, Resource: t.resource, What: t.what, Why: check.why, Fix: t.fix})
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(slices.Index(Severities(), a.Severity)-slices.Index(Severities(), b.Severity), cmp.Compare(a.Resource, b.Resource))
	})
	return out
}

// look is one look with the rules that it is judged by.
type look struct {
	Rules
	Cluster
}

// stream is the stream of a name; not ok where there is none.
func (l look) stream(name string) (Stream, bool) {
	i := slices.IndexFunc(l.Streams, func(s Stream) bool { return s.Config.Name == name })
	if i < 0 {
		return Stream{}, false
	}
	return l.Streams[i], true
}

// taskStreams are those that take tasks of the fleet.
func (l look) taskStreams() []Stream {
	return slices.DeleteFunc(slices.Clone(l.Streams), func(s Stream) bool { return !takesTasks(l.Contract, s.Config) })
}

// eachStream finds a trap in each of some streams; nothing where what is empty.
func eachStream(streams []Stream, find func(Stream) (what, fix string)) []trap {
	var out []trap
	for _, s := range streams {
		if what, fix := find(s); what != "" {
			out = append(out, trap{resource: "stream " + s.Config.Name, what: what, fix: fix})
		}
	}
	return out
}

// eachWorker finds a trap in each consumer through which workers take tasks; nothing where what is empty.
func (l look) eachWorker(find func(stream string, c Consumer) (what, fix string)) []trap {
	var out []trap
	for _, s := range l.taskStreams() {
		for _, c := range s.Consumers {
			if !l.works(s, c) {
				continue
			}
			if what, fix := find(s.Config.Name, c); what != "" {
				out = append(out, trap{resource: "consumer " + s.Config.Name + " " + c.Name, what: what, fix: fix})
			}
		}
	}
	return out
}

// editStream is the command that changes a stream. It says anew that a stream answers nobody: the nats command turns answers on where it is not told.
func editStream(s Stream, flags string) string {
	if s.Config.NoAck {
		flags += " --no-ack"
	}
	return fmt.Sprintf("nats stream edit %s %s", s.Config.Name, flags)
}

// edit is the command that changes a consumer.
func edit(stream, consumer, flags string) string {
	return fmt.Sprintf("nats consumer edit %s %s %s", stream, consumer, flags)
}
