package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"fleetglass/access"
	"fleetglass/internal/testkit"
)

const deployDir = "../../deploy"

// debian finds a program that scripts/install-test-deps.sh installs.
func debian(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("the tests need %s: scripts/install-test-deps.sh installs it", name)
	}
	return path
}

func TestThePrometheusRulesLoadAndFire(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), debian(t, "promtool"), args...)
		cmd.Dir = filepath.Join(deployDir, "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// rule is an alert of Prometheus.
type rule struct {
	Alert       string
	Expr        string
	Annotations map[string]string
}

func prometheusRules(t *testing.T) (out []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	text, err := os.ReadFile(filepath.Join(deployDir, "prometheus", "rules.yml"))
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	return out
}

func TestEveryPrometheusRuleIsTestedAndHasARunbook(t *testing.T) {
	t.Parallel()
	tests, err := os.ReadFile(filepath.Join(deployDir, "prometheus", "rules_test.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range prometheusRules(t) {
		if !strings.Contains(string(tests), "alertname: "+r.Alert+"\n") {
			t.Errorf("%s: no test", r.Alert)
		}
		runbooks := []string{r.Annotations["runbook"]}
		if kinds := regexp.MustCompile(`kind=~"([^"]+)"`).FindStringSubmatch(r.Expr); kinds != nil {
			runbooks = nil
			for _, kind := range strings.Split(kinds[1], "|") {
				runbooks = append(runbooks, strings.ReplaceAll(r.Annotations["runbook"], "{{ $labels.kind }}", kind))
			}
		}
		for _, name := range runbooks {
			file, heading, _ := strings.Cut(name, "#")
			text, err := os.ReadFile(filepath.Join("../..", file))
			if err != nil || !strings.Contains(strings.ToLower(string(text)), "# "+heading) {
				t.Errorf("%s: runbook %q: %v", r.Alert, name, err)
			}
		}
	}
}

// dashboard is what Grafana reads of a dashboard.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
	Panels []panel
}

type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource struct{ Type, UID string }
	GridPos    struct{ X, Y, W, H int }
	Targets    []struct {
		RefID, Expr string
		Datasource  struct{ Type, UID string }
	}
}

func grafanaDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployDir, "grafana", "fleetglass.json"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheDashboardIsWellFormed(t *testing.T) {
	t.Parallel()
	d := grafanaDashboard(t)
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 || len(d.Templating.List) != 2 || d.Templating.List[0].Name != "datasource" || d.Templating.List[0].Type != "datasource" {
		t.Errorf("head of the dashboard: %+v", d)
	}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 || p.GridPos.W < 1 || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.H < 1 || p.Title == "" || !slices.Contains([]string{"row", "stat", "timeseries"}, p.Type) {
			t.Errorf("panel %d %q: type %s, place %+v", p.ID, p.Title, p.Type, p.GridPos)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" || p.Datasource.Type != "prometheus" {
			t.Errorf("panel %q: %d targets, data source %+v", p.Title, len(p.Targets), p.Datasource)
		}
		for _, target := range p.Targets {
			if target.Datasource != p.Datasource || target.RefID == "" || target.Expr == "" {
				t.Errorf("panel %q: target %+v", p.Title, target)
			}
		}
		for _, other := range d.Panels {
			if other.ID != p.ID && overlap(p, other) {
				t.Errorf("panels %q and %q overlap", p.Title, other.Title)
			}
		}
	}
}

func overlap(a, b panel) bool {
	p, q := a.GridPos, b.GridPos
	return p.X < q.X+q.W && q.X < p.X+p.W && p.Y < q.Y+q.H && q.Y < p.Y+p.H
}

// prometheusOf runs Debian's Prometheus with the configuration that is deployed, against a server and with a token, and returns its address.
func prometheusOf(t *testing.T, target, token string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(deployDir, "prometheus", "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs(filepath.Join(deployDir, "prometheus", "rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	config := strings.NewReplacer("fleetglass:8080", target, "15s", "250ms", "/etc/prometheus/rules.yml", rules, "/run/secrets/fleetglass-metrics-token", writeFile(t, "token", token),
		"alertmanager:9093", "127.0.0.1:1").Replace(string(text))
	file := writeFile(t, "prometheus.yml", config)
	address := testkit.FreeAddress(t)
	cmd := exec.CommandContext(t.Context(), debian(t, "prometheus"), "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return "http://" + address
}

// fromPrometheus asks Prometheus.
func fromPrometheus(address, path string, into any) error {
	response, err := http.Get(address + path)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, text)
	}
	return json.Unmarshal(text, into)
}

// seldom are metrics that are there only after something went wrong, or after a while.
var seldom = []string{"fleetglass_capture_gaps", "fleetglass_stale_in_flight", "fleetglass_duplicates_total", "fleetglass_lease_renewals_failed_total",
	"fleetglass_idempotency_keys_reused_total", "fleetglass_receipt_missing_recoveries_total", "fleetglass_outbound_send_retries_total", "fleetglass_missed_messages_total", "fleetglass_reconciliation_unexplained", "fleetglass_reconciliation_discrepancies"}

// exported reports whether the program has a metric of that name.
func exported(t *testing.T, name string) bool {
	t.Helper()
	files, err := filepath.Glob("../../internal/telemetry/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), strconv.Quote(name))
	})
}

var metricName = regexp.MustCompile(`\b(?:fleetglass|go|process)_[a-z0-9_]+`)

// TestPrometheusReadsEveryMetricOfRulesAndDashboard runs a demonstration fleet and a real Prometheus, which may read metrics and nothing else.
func TestPrometheusReadsEveryMetricOfRulesAndDashboard(t *testing.T) {
	t.Parallel()
	token, entry := access.NewToken("prometheus", []access.Scope{access.Metrics}, time.Time{})
	app := start(t, settings(t, "--demo", "--demo-rate", "20", "--auth-tokens-file", writeTokens(t, entry)))
	address := prometheusOf(t, app.Addr(), token)
	expressions := map[string]bool{"up{job=\"fleetglass\"} == 1": true, "sum(fleetglass_tasks) > 0": true}
	for _, r := range prometheusRules(t) {
		expressions[r.Expr] = false
	}
	for _, p := range grafanaDashboard(t).Panels {
		for _, target := range p.Targets {
			expressions[strings.ReplaceAll(target.Expr, "$agent", ".*")] = false
		}
	}
	names := map[string]bool{}
	testkit.Eventually(t, alertsWithin, func() error {
		var found struct{ Data []string }
		if err := fromPrometheus(address, "/api/v1/label/__name__/values", &found); err != nil {
			return err
		}
		for _, name := range found.Data {
			names[name] = true
		}
		for expression := range expressions {
			for _, name := range metricName.FindAllString(expression, -1) {
				if !names[name] && (!slices.Contains(seldom, name) || !exported(t, name)) {
					return fmt.Errorf("no metric %s", name)
				}
			}
		}
		return nil
	})
	for expression, holds := range expressions {
		testkit.Eventually(t, patience, func() error {
			var answer struct{ Data struct{ Result []any } }
			if err := fromPrometheus(address, "/api/v1/query?query="+url.QueryEscape(expression), &answer); err != nil {
				return err
			}
			if holds && len(answer.Data.Result) == 0 {
				return fmt.Errorf("%s does not hold", expression)
			}
			return nil
		})
	}
}
