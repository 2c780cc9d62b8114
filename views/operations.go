package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// OperationsPage is the list of operations.
type OperationsPage struct {
	Links ViewLinks
	Rows  []OperationRow
	First string // Address of the beginning of the list; empty where this is it.
	Older string // Address of the following page; empty at the end.
	Empty EmptyState
}

// OperationRow is one operation of the list.
type OperationRow struct {
	dlqtriage.Operation
	Href  string
	On    string // What it is about, in a few words.
	Entry string // The id of the one entry that it is about; empty where it is about several.
}

// OperationPage is one operation, as it goes on.
type OperationPage struct {
	dlqtriage.Operation
	Links     ViewLinks
	On        string // What was selected, in words.
	Entry     string // The id of the one entry that it is about; empty where it is about several.
	OnHref    string // Where that is; empty where it cannot be shown.
	Tabs      []Tab  // Of its entries, by status.
	Items     []ItemRow
	Partly    bool   // Only the first entries are known.
	First     string // Address of the first page of entries; empty where this is it.
	Next      string // Address of the following page; empty at the end.
	CancelOff Denial // Why the reader cannot cancel it; empty where the reader can.
	UndoHref  string // Where it is undone; empty where it cannot be.
	UndoOff   Denial // Why the reader cannot undo it.
}

// ItemRow is one entry of an operation.
type ItemRow struct {
	dlqtriage.Item
	Name string // What the message is called; its id where that is not known.
	Href string
	Plan *dlqtriage.Plan // What a retry as planned does with it; nil where that is not asked.
}

// BulkBar is what can be done with the rows that are ticked.
type BulkBar struct {
	Off    Denial // Why the reader can do nothing with them; empty where something can be done.
	Total  int64  // How many match the filter.
	Filter string // The filter as query parameters.
}

// RetryBar is what can be done with the dead letters of the tasks that are ticked.
type RetryBar struct {
	Off    Denial // Why the reader can do nothing about them; empty where something can be done.
	All    string // How many tasks match the filter, as it is counted; empty where they are too many to be selected at once.
	Most   int64  // How many can be selected at once.
	Filter string // The filter as query parameters.
}

// BulkActions are the actions that can be taken on many entries, in the order in which they are offered.
func BulkActions() []dlqtriage.ActionKind {
	return []dlqtriage.ActionKind{
		dlqtriage.ActionRetry, dlqtriage.ActionReassign, dlqtriage.ActionDefer, dlqtriage.ActionQuarantine, dlqtriage.ActionReclassify, dlqtriage.ActionReopen, dlqtriage.ActionDiscard,
	}
}

// BulkSelection is what an operation is to act on, as a form carries it.
type BulkSelection struct {
	IDs    []string // What was ticked.
	All    bool     // Everything that the filter selects, instead.
	Filter string   // As query parameters.
	Of     string   // What this operation did, instead.

	OfTasks bool   // The ids and the filter are of tasks: what is selected are their open dead letters.
	Before  string // Of tasks, when they were selected: what dies later is not.

	Words string // What that is, for people.
	Href  string // The list that the reader came from.
}

// BulkPage is an operation before it begins: what it would do.
type BulkPage struct {
	BulkSelection
	Form    ActionForm
	Rate    string               // Entries in a second, as it was typed.
	Key     string               // Names the request, so that it acts once.
	Seen    string               // Stands for what was judged, so that nothing else is done.
	Dry     *dlqtriage.Operation // Nil where the request is wrong.
	Items   []ItemRow            // The first entries.
	Untaken int64                // How many of them had no consumer that takes their subject, where the action sends them to it again.
	Off     Denial               // Why the reader can do nothing; empty where something can be done.
	May     Denial               // Why the reader may only look; empty where the reader may act.
}

// undoWords name what undoing the operation does.
func (p OperationPage) undoWords() string {
	if p.Action.Sends() {
		return "Cancel the retries that wait"
	}
	return "Undo: open " + Count(p.Counts.Done) + " again"
}

// cancelWords say what cancelling an operation on many entries leaves as it is.
func (p OperationPage) cancelWords() string {
	if p.Action.Sends() {
		return "No further retry is made. Those that wait already can be cancelled afterwards."
	}
	return "What was done stays done."
}

// ForMany is the form without what only one message has.
func (f ActionForm) ForMany(wrong string) ActionForm {
	f.Href, f.Revision, f.Uneditable, f.Wrong = "", 0, "", wrong
	return f
}

func (p BulkPage) heading() string {
	n := int64(len(p.IDs))
	if p.OfTasks {
		n = 0
	}
	if p.Dry != nil {
		n = p.Dry.Counts.Selected
	}
	return ActionName(p.Form.Typed.Kind) + " " + numbered(n, "dead letter", "dead letters")
}

// params are the fields of the selection, for the hidden fields of the form.
func (s BulkSelection) params() []Param {
	var out []Param
	all, filter := "select", "filter"
	if s.OfTasks {
		all, filter, out = "matching", "tasks", []Param{{Name: "before", Value: s.Before}}
	}
	switch {
	case s.Of != "":
		return []Param{{Name: "of", Value: s.Of}}
	case s.All:
		out = append(out, Param{Name: all, Value: "all"})
	default:
		for _, id := range s.IDs {
			out = append(out, Param{Name: "id", Value: id})
		}
	}
	return append(out, Param{Name: filter, Value: s.Filter})
}

// operationTitle names an operation by what it does and on what. A title of a message often begins with a verb itself.
func operationTitle(o dlqtriage.Operation, on string) string {
	if o.Bulk {
		return ActionName(o.Action) + " " + on
	}
	return ActionName(o.Action) + ": " + on
}

// looked is how many entries were looked at so far.
func looked(c dlqtriage.Counts) int64 { return c.Done + c.Blocked + c.Failed }

// farWords say how far an operation on many entries is.
func farWords(o dlqtriage.Operation) string {
	c := o.Counts
	if o.DryRun {
		return fmt.Sprintf("%s selected: %s eligible, %s blocked", Count(c.Selected), Count(c.Eligible), Count(c.Blocked))
	}
	words := fmt.Sprintf("%s of %s: %s done, %s blocked", Count(looked(c)), Count(c.Selected), Count(c.Done), Count(c.Blocked))
	if c.Failed > 0 {
		words += ", " + Count(c.Failed) + " failed"
	}
	if gone := c.Selected - looked(c); gone > 0 && o.Counting {
		words += "; those acted on last are being counted"
	} else if gone > 0 && o.Status == dlqtriage.ActionSucceeded {
		words += ", " + Count(gone) + " no longer matched"
	} else if gone > 0 && o.Status == dlqtriage.ActionCancelled {
		words += ", " + Count(gone) + " left alone"
	}
	return words
}

// leftWords say how long an operation with a rate still takes; empty where nobody can tell.
func leftWords(o dlqtriage.Operation) string {
	left := o.Counts.Selected - looked(o.Counts)
	if o.Status.Ended() || o.Rate <= 0 || left <= 0 {
		return ""
	}
	return "about " + lifecycle.Lasting(time.Duration(float64(left)/o.Rate*float64(time.Second)).Round(time.Second)) + " left"
}

// operationLook is how the status of an operation looks.
func operationLook(o dlqtriage.Operation) look {
	switch o.Status {
	case dlqtriage.ActionQueued:
		return look{Icon: "clock", Tone: "wait", Word: "queued"}
	case dlqtriage.ActionRunning:
		return look{Icon: "operations", Tone: "run", Word: "running"}
	case dlqtriage.ActionFailed:
		return look{Icon: "warn", Tone: "bad", Word: "failed"}
	case dlqtriage.ActionCancelled:
		return look{Icon: "x", Tone: "warn", Word: "cancelled"}
	}
	if o.DryRun {
		return look{Icon: "info", Tone: "wait", Word: "dry run"}
	}
	switch c := o.Counts; {
	case o.Bulk && c.Failed > 0:
		return look{Icon: "warn", Tone: "bad", Word: "ended, " + someOf(c.Failed, c) + " failed"}
	case o.Bulk && c.Blocked > 0:
		return look{Icon: "check", Tone: "warn", Word: "ended, " + someOf(c.Blocked, c) + " blocked"}
	}
	return look{Icon: "check", Tone: "ok", Word: "succeeded"}
}

// someOf says whether some of the entries are so, or all.
func someOf(n int64, c dlqtriage.Counts) string {
	if n == looked(c) {
		return "all"
	}
	return "some"
}

// itemLook is how the status of an entry of an operation looks. Of a dry run nothing was done.
func itemLook(i dlqtriage.Item, dry bool) look {
	switch i.Status {
	case dlqtriage.ItemBlocked:
		return look{Icon: "lock", Tone: "warn", Word: "blocked"}
	case dlqtriage.ItemFailed:
		return look{Icon: "warn", Tone: "bad", Word: "failed"}
	case dlqtriage.ItemCancelled:
		return look{Icon: "x", Tone: "wait", Word: "cancelled"}
	case dlqtriage.ItemQueued:
		if dry {
			return look{Icon: "check", Tone: "ok", Word: "eligible"}
		}
		if i.DueAt.Known() {
			return look{Icon: "clock", Tone: "run", Word: "to be published"}
		}
		return look{Icon: "clock", Tone: "run", Word: "queued"}
	}
	if i.Outcome == dlqtriage.OutcomeDiedAgain {
		return look{Icon: "dead", Tone: "bad", Word: withOutcome("done", i.Outcome)}
	}
	return look{Icon: "check", Tone: "ok", Word: withOutcome("done", i.Outcome)}
}

// EntryName is what an entry is called: its title, else its type, else its task.
func EntryName(e dlqtriage.Entry) string { return entryName(e) }

// sentWords name the message that was published.
func sentWords(i dlqtriage.Item) string {
	if i.Message == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", i.Message.Stream, i.Message.Seq)
}

// paramFacts are the parameters of an operation, for people.
func paramFacts(p dlqtriage.Params) []Param {
	out := []Param{
		{Name: "Changed", Value: map[dlqtriage.RetryAs]string{dlqtriage.AsPlan: "as the plan says", dlqtriage.AsUnchanged: "not at all", dlqtriage.AsEdited: "edited"}[p.As]},
		{Name: "Agent", Value: p.Agent}, {Name: "Model", Value: p.Model}, {Name: "Because it is", Value: p.Because},
		{Name: "Counts as", Value: strings.ReplaceAll(cmp.Or(p.Detail, string(p.Category)), "_", " ")},
		{Name: "Even if it is blocked", Value: p.ForceReason},
	}
	if p.To == dlqtriage.ToHuman {
		out = append(out, Param{Name: "Until", Value: "a person decides"})
	} else if p.Until.Known() {
		out = append(out, Param{Name: "Until", Value: p.Until.Time().UTC().Format("2006-01-02 15:04:05 UTC")})
	}
	return slices.DeleteFunc(out, func(f Param) bool { return f.Value == "" })
}
