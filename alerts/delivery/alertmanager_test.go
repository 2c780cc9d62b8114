package delivery_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"fleetglass/alerts"
	"fleetglass/alerts/delivery"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

const alertmanagerConfig = `route: {receiver: page, group_by: [alertname, agent], group_wait: 1s, group_interval: 1s}
receivers: [{name: page}]
`

// alertmanager runs Debian's prometheus-alertmanager until the test ends, and returns its address.
func alertmanager(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		t.Fatal("the tests need prometheus-alertmanager: scripts/install-test-deps.sh installs it")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "alertmanager.yml")
	if err := os.WriteFile(file, []byte(alertmanagerConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(program, "--config.file="+file, "--storage.path="+dir, "--web.listen-address="+address, "--cluster.listen-address=")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	testkit.Eventually(t, patience, func() error { return fetch(t, "http://"+address+"/api/v2/status", &struct{}{}) })
	return "http://" + address
}

func fetch(t *testing.T, address string, into any) error {
	t.Helper()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(address)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// group is a group of alerts as an Alertmanager shows it.
type group struct {
	Labels map[string]string
	Alerts []struct{ Labels, Annotations map[string]string }
}

// groups counts the alerts that fire by their group, and holds that it has so many.
func groups(t *testing.T, address string, want map[string]int) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		var all []group
		if err := fetch(t, address+"/api/v2/alerts/groups", &all); err != nil {
			return err
		}
		got := map[string]int{}
		for _, g := range all {
			got[g.Labels["alertname"]+" "+g.Labels["agent"]] += len(g.Alerts)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("groups %v, want %v", got, want)
		}
		return nil
	})
}

func TestAnAlertmanagerReceivesGroupsAndResolves(t *testing.T) {
	t.Parallel()
	address := alertmanager(t)
	manager, err := delivery.NewAlertmanager(address, func() string { return "http://glass" })
	if err != nil {
		t.Fatal(err)
	}
	stores := replicas(t, 2)
	tells(t, stores, manager)
	groups(t, address, map[string]int{delivery.Heartbeat + " ": 1})
	service, err := alerts.NewService(alerts.ServiceConfig{Store: stores[1]})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = service.Silence(t.Context(), alerts.Silence{
		Matchers: []alerts.Matcher{{Name: "agent", Op: alerts.Matches, Value: "qui.*"}}, Until: lifecycle.MicrosOf(time.Now().Add(time.Hour)), Comment: "we deploy",
	}, false, alerts.By{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	look(t, stores, time.Now(), zombie("a", "cto"), zombie("b", "cto"), zombie("c", "ceo"), zombie("d", "quiet"))
	groups(t, address, map[string]int{delivery.Heartbeat + " ": 1, "zombie cto": 2, "zombie ceo": 1})
	var all []struct{ Labels, Annotations map[string]string }
	if err := fetch(t, address+"/api/v2/alerts?filter=agent%3Dceo", &all); err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if a := all[0]; a.Labels["severity"] != "critical" || a.Labels["task_id"] != "c" || a.Annotations["runbook_url"] != "http://glass/runbooks/zombie" {
		t.Errorf("received %+v", a)
	}
	look(t, stores, time.Now(), zombie("a", "cto"))
	groups(t, address, map[string]int{delivery.Heartbeat + " ": 1, "zombie cto": 1})
}

func TestNoHeartbeatIsSentWhileOurOwnFeedIsSilent(t *testing.T) {
	t.Parallel()
	var got []struct{ Labels map[string]string }
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _ = json.NewDecoder(r.Body).Decode(&got) })
	server := serve(t, h)
	manager, err := delivery.NewAlertmanager(server, func() string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	silent := alerts.Alert{ID: "x", Rule: alerts.RuleFeedSilent, StartedAt: 1}.At(2, nil)
	for _, standing := range [][]alerts.Standing{{silent}, nil} {
		got = nil
		if _, err := manager.Tell(t.Context(), nil, standing, time.Now()); err != nil {
			t.Fatal(err)
		}
		if beats := len(got) > 0 && got[len(got)-1].Labels["alertname"] == delivery.Heartbeat; beats != (len(standing) == 0) {
			t.Errorf("with %d standing: %+v", len(standing), got)
		}
	}
}
