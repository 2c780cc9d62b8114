package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// ReadReport reads the JSON that an earlier run wrote. It errors when the file is missing, is no report, or has another schema.
func ReadReport(path string) (Report, error) {
	var r Report
	text, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("read earlier results: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("read earlier results %s: %w", path, err)
	}
	if r.Schema != 1 {
		return r, fmt.Errorf("read earlier results %s: schema %d, want 1", path, r.Schema)
	}
	return r, nil
}

// WriteReport writes a report as JSON.
func WriteReport(path string, r Report) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// WriteComparison prints how the judged figure of each row changed from an earlier report, where a ratio is compared with a ratio.
// Rows that only one of them has are named.
func WriteComparison(w io.Writer, before, after Report) error {
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s (%s) against %s (%s)\n", after.Commit, after.Form, before.Commit, before.Form)
	if before.Form != after.Form || before.Events != after.Events {
		fmt.Fprintf(out, "The forms differ: %d and %d events.\n", before.Events, after.Events)
	}
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\nrow\tbefore\tnow\tchange\tspread of runs")
	earlier := map[string]Result{}
	for _, r := range before.Results {
		earlier[r.Name] = r
	}
	for _, now := range after.Results {
		was, found := earlier[now.Name]
		delete(earlier, now.Name)
		if !found {
			fmt.Fprintf(t, "%s\t-\t%s\tnew\t\n", now.Name, figure(now.judged()))
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", now.Name, figure(was.judged()), figure(now.judged()), change(was.judged(), now.judged()), now.spread())
	}
	for _, r := range before.Results {
		if _, gone := earlier[r.Name]; gone {
			fmt.Fprintf(t, "%s\t%s\t-\tnot measured\t\n", r.Name, figure(r.judged()))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (r Result) judged() float64 {
	if r.Judged == "ratio" {
		return *r.Ratio
	}
	return r.Value
}

// spread is from the lowest to the highest run, as a share of the median: a change below it means nothing.
func (r Result) spread() string {
	if len(r.Values) != r.Runs || r.Runs < 2 || r.Value == 0 { // One run, or a distribution.
		return ""
	}
	low, high := Quantile(r.Values, 0), Quantile(r.Values, 1)
	return fmt.Sprintf("%.0f %%", 100*(high-low)/r.Value)
}

func change(was, now float64) string {
	if was == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*(now-was)/was)
}
