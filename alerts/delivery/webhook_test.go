package delivery_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"fleetglass/alerts"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// heard is what a receiver took that fails for a while.
type heard struct {
	verifier *standardwebhooks.Webhook
	fails    int

	mu    sync.Mutex
	tries int
	wrong []error
	ids   []string
	took  []string // State and task of each message that was taken.
}

func (h *heard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	if err := h.verifier.Verify(body, r.Header); err != nil {
		h.wrong = append(h.wrong, err)
	}
	if h.tries++; h.tries <= h.fails {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var m struct {
		Type string
		Data struct {
			TaskID string `json:"task_id"`
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		h.wrong = append(h.wrong, err)
	}
	h.ids = append(h.ids, r.Header.Get("webhook-id"))
	h.took = append(h.took, m.Type+" "+m.Data.TaskID)
}

// Two replicas see the same and tell the same receiver: it hears each alert once, signed, in order, although it fails for a while; and nothing
// of what is silenced.
func TestAReceiverThatFailsForAWhileGetsEveryAlertOnceInOrder(t *testing.T) {
	t.Parallel()
	verifier, err := standardwebhooks.NewWebhookRaw([]byte("a secret"))
	if err != nil {
		t.Fatal(err)
	}
	h := &heard{verifier: verifier, fails: 15}
	stores := replicas(t, 2)
	tells(t, stores, hookFor(t, h, "a secret"))
	service, err := alerts.NewService(alerts.ServiceConfig{Store: stores[0]})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	_, _, err = service.Silence(t.Context(), alerts.Silence{
		Matchers: []alerts.Matcher{{Name: "agent", Op: alerts.Equal, Value: "quiet"}}, Until: lifecycle.MicrosOf(now.Add(time.Hour)), Comment: "we deploy",
	}, false, alerts.By{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	var found []alerts.Finding
	var want []string
	for i := range 5 {
		found = append(found, zombie(fmt.Sprint("t", i), "cto"), zombie(fmt.Sprint("q", i), "quiet"))
		want = append(want, fmt.Sprint("alert.firing t", i))
		look(t, stores, now.Add(time.Duration(i)*time.Second), found...)
	}
	look(t, stores, now.Add(10*time.Second))
	testkit.Eventually(t, patience, func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.took) < 10 {
			return fmt.Errorf("heard %q of %d tries", h.took, h.tries)
		}
		return nil
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.took[:5], want) || len(h.took) != 10 || len(h.wrong) != 0 {
		t.Errorf("heard %q, wrong %v", h.took, h.wrong)
	}
	slices.Sort(h.ids)
	if len(slices.Compact(slices.Clone(h.ids))) != 10 {
		t.Errorf("ids %q", h.ids)
	}
	tries, err := stores[1].Deliveries(t.Context(), alerts.AlertID(alerts.RuleZombie, "t0"), 100)
	if err != nil || len(tries) < 3 || tries[len(tries)-1].Status != alerts.DeliveryFailed || tries[0].Status != alerts.DeliveryDone {
		t.Errorf("the log says %+v, %v", tries, err)
	}
}
