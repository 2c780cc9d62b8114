package dlqtriage

import "fleetglass/lifecycle"

// Source says where a piece of evidence was found.
type Source string

// The sources, in the order in which they are believed (SPEC 5).
const (
	SourceHeader   Source = "header"         // A header of the dead-letter entry: another monitor's verdict.
	SourceTerm     Source = "term_reason"    // The text of the worker's +TERM.
	SourceReported Source = "reported_error" // The agent's failure report.
	SourceStatus   Source = "http_status"    // An HTTP status, named by the evidence or found in its texts.
	SourceText     Source = "error_text"     // Whatever else was said: reasons of naks, of the entry, of the broker.
)

// Sources lists all sources in the order in which they are believed.
func Sources() []Source {
	return []Source{SourceHeader, SourceTerm, SourceReported, SourceStatus, SourceText}
}

// ProvenanceOf is how a piece of evidence is known, as its source says; empty where that may be one of several, as with texts and statuses.
func ProvenanceOf(e lifecycle.Evidence) lifecycle.Provenance {
	switch Source(e.Source) {
	case SourceHeader, sourceEntry:
		return lifecycle.Recorded
	case SourceTerm:
		return lifecycle.Observed
	case SourceReported:
		return lifecycle.Reported
	case ByRules:
		return lifecycle.Inferred
	}
	return ""
}

// sourceEntry is the source of a class that is written in the dead-letter entry.
const sourceEntry Source = "dead-letter entry"

// Evidence is what is known of why a message died. All of it is optional, and all texts are untrusted.
type Evidence struct {
	Headers  map[string][]string // Of the dead-letter entry.
	Term     string              // The reason of the worker's +TERM.
	Reported string              // The reason of the agent's failure report.
	Status   int                 // The HTTP status that somebody reported; zero for none.
	Texts    []string            // Other texts: reasons of naks and of the entry, the broker's words.
}

// Verdict is what the rules say about a dead message.
type Verdict struct {
	Class
	Rule     string               // The name of the rule; empty when none matched.
	Evidence []lifecycle.Evidence // What the rule matched; empty when none did. Untrusted.
}
