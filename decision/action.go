package decision

import "fleetglass/lifecycle"

// ActionPlace is a place in a list of actions by time, from which it is read on.
type ActionPlace struct {
	CreatedAt lifecycle.Micros
	ID        string
	Newer     bool // The list is read towards newer actions. They still come newest first.
}

// Action is something that somebody asked for and that has begun or ended, as the domain that owns it describes it.
type Action struct {
	ID        string           // Required.
	Subject   Subject          // Required: that of the decision.
	Kind      string           // Such as retry or discard.
	Operation string           // The bulk operation that it is part of; empty for none.
	Open      bool             // Effects of it are not settled. A subject has at most one open action: another one is ErrBusy.
	CreatedAt lifecycle.Micros //
	UpdatedAt lifecycle.Micros //
	Body      []byte           // The rest, in the form of the domain that owns the action.
}
