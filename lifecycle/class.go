package lifecycle

import (
	"cmp"
	"slices"
)

// ClassFacts says why a message died. It is a register: a person's word has a revision, which the store issued, and counts more than that
// of the rules, which has none; among the words of the rules the latest counts.
type ClassFacts struct {
	Revision uint64     `json:"rev,omitempty"`
	Category string     `json:"category,omitempty"`
	Detail   string     `json:"detail,omitempty"`
	Kind     string     `json:"kind,omitempty"`
	Rule     string     `json:"rule,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	By       string     `json:"by,omitempty"` // The actor, or whoever applied the rules.
	At       Micros     `json:"at"`
}

func (m *MessageFacts) joinClass(e Event) {
	d := e.Detail
	c := ClassFacts{
		Revision: d.Revision, Category: d.Category, Detail: d.CategoryDetail, Kind: d.CauseKind, Rule: d.Rule, Evidence: slices.Clone(d.Evidence),
		By: d.Actor, At: e.At,
	}
	if m.Classified == nil || compareClass(c, *m.Classified) > 0 {
		m.Classified = &c
	}
}

// compareClass ranks what was said: the later decision of a person, then a rule that matched before rules of which none did.
func compareClass(a, b ClassFacts) int {
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(min(len(a.Rule), 1), min(len(b.Rule), 1)), cmp.Compare(a.At, b.At), cmp.Compare(a.Category, b.Category), cmp.Compare(a.Detail, b.Detail),
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.By, b.By), slices.CompareFunc(a.Evidence, b.Evidence, compareEvidence))
}

func compareEvidence(a, b Evidence) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Text, b.Text))
}
