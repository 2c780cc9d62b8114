package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// lookEvery is how often followed files are looked at: a change counts within a second.
const lookEvery = 250 * time.Millisecond

// followedValue is what a file says, for as long as the program runs. While the file cannot be used, what was in force stays in force.
type followedValue[T any] struct {
	name  string // What it is, such as "triage policy".
	kind  string // Of its part in /readyz.
	file  followedFile
	parse func([]byte) (T, error)
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	state followedState[T]
}

// followedState is what is in force, and where it came from.
type followedState[T any] struct {
	Value    T
	LoadedAt lifecycle.Micros
	Problem  string // Why the file is not in force; empty when it is.
}

// followValue reads a file and follows it from then on; without a name the built-in value is in force. It errors when the file cannot be used: a
// start without what somebody configured would be a surprise.
func followValue[T any](a *App, f *followedValue[T], builtIn T) error {
	f.log = a.log
	f.state = followedState[T]{Value: builtIn, LoadedAt: lifecycle.MicrosOf(f.now())}
	if f.file.name == "" {
		return nil
	}
	text, err := os.ReadFile(f.file.name)
	if err == nil {
		f.state.Value, err = f.parse(text)
	}
	if err != nil {
		return fmt.Errorf("read the %s from %s: %w", f.name, f.file.name, err)
	}
	f.file.seen, f.file.used = text, text
	a.watch(f)
	a.work(f.name, f.Run)
	return nil
}

// State is what is in force.
func (f *followedValue[T]) State() followedState[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// Value is what the file said when it could be used last.
func (f *followedValue[T]) Value() T { return f.State().Value }

// Run looks at the file again and again until ctx is done.
func (f *followedValue[T]) Run(ctx context.Context) error {
	return again(ctx, lookEvery, func() { f.look() })
}

// look takes what the file says when it is something else than what is in force.
func (f *followedValue[T]) look() {
	switch news, text, err := f.file.look(false); news {
	case fileUnread:
		f.keep(err)
	case fileSame:
		f.keep(nil)
	case fileChanged:
		f.take(text)
	}
}

// take puts what the file says into force.
func (f *followedValue[T]) take(text []byte) {
	value, err := f.parse(text)
	if err != nil {
		f.keep(err)
		return
	}
	f.mu.Lock()
	f.state = followedState[T]{Value: value, LoadedAt: lifecycle.MicrosOf(f.now())}
	f.mu.Unlock()
	f.file.used = text
	f.log.Info("a changed file is in force", "what", f.name, "file", f.file.name)
}

// keep says why the file cannot be used, if so, and logs what is new about it.
func (f *followedValue[T]) keep(err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if problem != "" && problem != f.state.Problem {
		f.log.Error("a changed file cannot be used, so what was in force stays in force", "what", f.name, "file", f.file.name, "error", err)
	}
	f.state.Problem = problem
}

// Health says whether what is in force is what the file says.
func (f *followedValue[T]) Health() []health.Part {
	part := health.Part{Name: f.name, Kind: f.kind, State: health.OK}
	if s := f.State(); s.Problem != "" {
		part.State = health.Behind
		part.Detail = "the " + f.name + " file cannot be used, so what was in force before stays in force: " + s.Problem
	}
	return []health.Part{part}
}
