package access

import (
	"errors"
	"slices"
	"testing"
)

// mayDo is what each role may do, written down apart from the code that decides.
var mayDo = map[Role][]Scope{
	"":            nil,
	Viewer:        {Read, Metrics},
	Triager:       {Read, Metrics, TriagePropose, TriageApply, TriageDiscard},
	Administrator: {Read, Metrics, Report, TriagePropose, TriageApply, TriageDiscard, Admin},
}

func TestEachRoleMayDoWhatItsScopesSay(t *testing.T) {
	t.Parallel()
	for role, may := range mayDo {
		who := Principal{Name: string(role), Scopes: role.Scopes()}
		for _, needs := range Scopes() {
			err := Authorizer{}.Authorize(who, needs)
			if got, want := err == nil, slices.Contains(may, needs); got != want {
				t.Errorf("%q and %s: got %v, want allowed = %v", role, needs, err, want)
			}
		}
	}
}

func TestReadOnlyModeRefusesWhatChangesSomething(t *testing.T) {
	t.Parallel()
	who := Principal{Name: "ada", Scopes: Administrator.Scopes()}
	for _, needs := range append(Scopes(), Open) {
		err := Authorizer{ReadOnly: true}.Authorize(who, needs)
		if reads := needs == Read || needs == Metrics || needs == Open; (err == nil) != reads || !reads && !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: got %v", needs, err)
		}
	}
	viewer := Principal{Name: "eve", Scopes: Viewer.Scopes()}
	if err := (Authorizer{ReadOnly: true}).Authorize(viewer, Admin); !errors.Is(err, ErrScopeMissing) {
		t.Errorf("a viewer: got %v, want that the scope is missing: read-only mode would not be the reason", err)
	}
}

func TestARefusalSaysWhoAndWhatAndWhy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		who   Principal
		needs Scope
		want  error
	}{
		{Principal{}, Read, ErrUnauthenticated},
		{Principal{}, Open, nil},
		{Local(), "", ErrUndeclared},
		{Local(), "root", ErrUndeclared},
		{Principal{}, "", ErrUndeclared},
		{Principal{Name: "a", Scopes: []Scope{Report}}, Read, ErrScopeMissing},
		{Principal{Name: "a", Scopes: []Scope{Open}}, Read, ErrScopeMissing},
		{Principal{Name: "prometheus", Scopes: []Scope{Metrics}}, Read, ErrScopeMissing},
		{Principal{Name: "prometheus", Scopes: []Scope{Metrics}}, Metrics, nil},
	} {
		err := Authorizer{}.Authorize(tt.who, tt.needs)
		if !errors.Is(err, tt.want) {
			t.Errorf("%v and %q: got %v, want %v", tt.who, tt.needs, err, tt.want)
		}
		var denied *Denied
		if tt.want != nil && (!errors.As(err, &denied) || denied.Actor != tt.who.Name || denied.Needs != tt.needs) {
			t.Errorf("%v and %q: got %#v", tt.who, tt.needs, err)
		}
	}
}
