package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// WriteTable prints the rows for people.
func WriteTable(w io.Writer, r Report) error {
	out := &strings.Builder{}
	fmt.Fprintf(out, "commit %s, %s, %d processors, load %s, form %s, %s events stored\n\n", r.Commit, r.Go, r.CPUs, r.Load, r.Form, figure(float64(r.Events)))
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "row\tfigure\tbaseline\tratio\tfloor\tgoal\tmet\truns\twhat")
	for _, row := range r.Results {
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", row.Name, figure(row.Value), row.Unit, optional(row.Baseline), optional(row.Ratio),
			optional(row.Floor), optional(row.Goal), row.verdict(), row.Runs, row.What)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range r.Results {
		if row.Note != "" {
			fmt.Fprintf(out, "\n%s: %s", row.Name, row.Note)
		}
	}
	_, err := io.WriteString(w, out.String()+"\n")
	return err
}

func (r Result) verdict() string {
	switch {
	case r.Met == nil:
		return "-"
	case !*r.Met:
		return "no"
	case *r.GoalMet:
		return "yes, goal"
	}
	return "yes"
}

func optional(f *float64) string {
	if f == nil {
		return "-"
	}
	return figure(*f)
}

// figure writes a number with three digits that count.
func figure(f float64) string {
	switch a := math.Abs(f); {
	case f == 0:
		return "0"
	case a >= 10_000_000:
		return fmt.Sprintf("%.1fM", f/1e6)
	case a >= 10_000:
		return fmt.Sprintf("%.1fk", f/1e3)
	case a >= 100:
		return fmt.Sprintf("%.0f", f)
	case a >= 10:
		return fmt.Sprintf("%.1f", f)
	case a >= 1:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.3f", f)
}
