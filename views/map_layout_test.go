package views

import (
	"slices"
	"testing"
)

// Whatever there is, no place overlaps another one, and all of them are on the map.
func TestNothingOnTheMapOverlaps(t *testing.T) {
	t.Parallel()
	for _, lines := range [][][]int{nil, {{1}}, {{1, 2, 7}, nil, {1, 1, 1, 1, 1}}, {{3}, {7, 7, 7, 7, 7}}, slices.Repeat([][]int{{1, 2}}, 16), {nil, nil, nil}} {
		for _, publishers := range []int{0, 1, 7} {
			l := layOut(publishers, lines, 3)
			boxes := slices.Concat(l.Publishers, l.Agents, l.Ends)
			for _, of := range l.Types {
				boxes = append(boxes, of...)
			}
			for i, a := range boxes {
				if a.X < 0 || a.X+a.W > 1.0001 || a.Y < mapTop-1 || a.Y+a.H > l.Height {
					t.Errorf("%v: %+v is not on a map of height %v", lines, a, l.Height)
				}
				for _, b := range boxes[:i] {
					if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
						t.Errorf("%v: %+v and %+v overlap", lines, a, b)
					}
				}
			}
		}
	}
}

// A type stands within the band of its agent, so that lines do not cross those of another one.
func TestTypesStandBesideTheirAgent(t *testing.T) {
	t.Parallel()
	l := layOut(2, [][]int{{1, 1, 2, 1, 1}, {1}, {1, 7, 1}}, 2)
	last := 0.0
	for i, of := range l.Types {
		for _, b := range of {
			if b.Y < last {
				t.Errorf("type at %v of agent %d is above one of the agent before", b.Y, i)
			}
			last = b.Y
		}
	}
}
