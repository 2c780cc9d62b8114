package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// CostHistory is what agents reported that tasks cost which were published in a span. It is counted by whole hours.
type CostHistory struct {
	From    lifecycle.Micros // Beginning of the first hour.
	Whole   CostOf
	ByAgent []CostOf // The most expensive first, ties by name.
	ByType  []CostOf // Likewise.
}

// CostOf is what tasks of one agent or of one type cost together. Where no report names a cost, Tasks is zero: not reported.
type CostOf struct {
	Name  string
	Tasks int64 // Of which a cost was reported.
	Cost  int64 // In millionths of a USD.
}

// Others reports whether it stands for the types that are not counted apart ([lifecycle.OtherNames]).
func (c CostOf) Others() bool { return c.Name == lifecycle.OtherNames }

// CostUSD is the cost in USD.
func (c CostOf) CostUSD() float64 { return lifecycle.ModelTotal{Cost: c.Cost}.CostUSD() }

func (c *CostOf) add(cell lifecycle.Cell, n int64) {
	switch cell.Metric {
	case lifecycle.MetricCost:
		c.Cost += n
	case lifecycle.MetricCosted:
		c.Tasks += n
	}
}

// costs adds what was reported of the tasks of a span.
func (s *Service) costs(ctx context.Context, span HistorySpan, agent string) (CostHistory, error) {
	out := CostHistory{From: span.From.Truncate(time.Hour)}
	cells, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{lifecycle.MetricCost, lifecycle.MetricCosted}, out.From, span.To, true)
	if err != nil {
		return out, err
	}
	agents, types := map[string]*CostOf{}, map[string]*CostOf{}
	for c, n := range cells {
		if agent != "" && c.Agent != agent {
			continue
		}
		out.Whole.add(c, n)
		named(agents, c.Agent).add(c, n)
		named(types, c.Label).add(c, n)
	}
	out.ByAgent, out.ByType = expensiveFirst(agents), expensiveFirst(types)
	return out, nil
}

func named(of map[string]*CostOf, name string) *CostOf {
	if of[name] == nil {
		of[name] = &CostOf{Name: name}
	}
	return of[name]
}

func expensiveFirst(of map[string]*CostOf) (out []CostOf) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if of[name].Tasks > 0 {
			out = append(out, *of[name])
		}
	}
	slices.SortStableFunc(out, func(a, b CostOf) int { return cmp.Compare(b.Cost, a.Cost) })
	return out
}
