package query

import (
	"context"
	"fmt"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// noEntries stands where no store of entries is configured.
type noEntries struct{}

var errNoEntries = fmt.Errorf("no store of dead letters is configured: %w", lifecycle.ErrUnable)

func (noEntries) Entries(context.Context, dlqtriage.EntryFilter, dlqtriage.EntryPageRequest) (dlqtriage.EntryPage, error) {
	return dlqtriage.EntryPage{}, errNoEntries
}

func (noEntries) Entry(context.Context, string) (dlqtriage.Entry, error) {
	return dlqtriage.Entry{}, errNoEntries
}

func (noEntries) EntriesOf(context.Context, string, int) ([]dlqtriage.Entry, error) {
	return nil, errNoEntries
}

func (noEntries) CountEntries(context.Context, dlqtriage.EntryFilter) (int64, error) {
	return 0, errNoEntries
}

func (noEntries) EntryGroups(context.Context, dlqtriage.EntryFilter, []dlqtriage.GroupField, lifecycle.Micros, int) ([]dlqtriage.EntryGroup, error) {
	return nil, errNoEntries
}

func (noEntries) EntrySteps(context.Context, dlqtriage.EntryFilter, []dlqtriage.GroupField, lifecycle.Micros) ([]dlqtriage.GroupSteps, error) {
	return nil, errNoEntries
}

func (noEntries) EachFate(context.Context, lifecycle.Micros, lifecycle.Micros, func(dlqtriage.Fate)) error {
	return errNoEntries
}

func (noEntries) Revision(context.Context, decision.Subject) (uint64, error) { return 0, errNoEntries }

func (noEntries) ActionsOn(context.Context, decision.Subject, int) ([]decision.Action, error) {
	return nil, errNoEntries
}
