package dlqtriage

import "fleetglass/lifecycle"

// EntryFilter selects entries. Values of one field are alternatives, different fields must all hold, and the zero value selects all. The
// value [Empty] selects the entries that have no value there.
type EntryFilter struct {
	Statuses     []Status
	Categories   []Category
	Details      []string
	Kinds        []Kind
	Paths        []Path
	Agents       []string
	Types        []string
	Fingerprints []string         // Of the reason.
	IDs          []string         // Ids of entries, of tasks or of messages.
	Words        []string         // Each must occur in the id, the task id, the message id, the title or the reason, without regard to case.
	Not          EntryExclusion   // What no entry of the list may have.
	From, To     lifecycle.Micros // On the time of death: From <= failed < To; zero for no bound.
}

// EntryExclusion names what an entry of a list may not have: not one value of all this.
type EntryExclusion struct {
	Statuses     []Status
	Categories   []Category
	Details      []string
	Kinds        []Kind
	Paths        []Path
	Agents       []string
	Types        []string
	Fingerprints []string
	IDs          []string
	Words        []string
}

// Empty is the value by which a filter asks for entries without one.
const Empty = "(none)"
