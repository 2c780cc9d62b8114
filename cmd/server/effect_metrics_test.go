package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/api"
	"fleetglass/internal/testkit"
)

// reporter publishes reports of agents, as any agent may.
type reporter struct {
	t  *testing.T
	js jetstream.JetStream
	n  int
}

func (r *reporter) says(agent, kind, task, data string) {
	r.t.Helper()
	r.n++
	body := fmt.Appendf(nil, `{"specversion":"1.0","id":"r-%d","source":"/agents/%s","type":"fleet.lifecycle.%s.v1","subject":%q,"time":%q,"data":%s}`,
		r.n, agent, kind, task, time.Now().UTC().Format(time.RFC3339Nano), data)
	if _, err := r.js.Publish(r.t.Context(), "genbrain.lifecycle."+agent+"."+kind, body); err != nil {
		r.t.Fatal(err)
	}
}

// wantMetrics waits until /metrics has the lines.
func (r *running) wantMetrics(lines ...string) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		var missing []error
		text := r.page("/metrics", "text/plain")
		for _, line := range lines {
			if !strings.Contains(text, line+"\n") {
				missing = append(missing, fmt.Errorf("no line %s", line))
			}
		}
		return errors.Join(missing...)
	})
}

// TestWhatHappensToLeasesKeysAndEffectsIsCounted has a worker renew its lease, announce effects and go silent, its successor finish, and another
// one give up a task that somebody outside was told to be taken.
func TestWhatHappensToLeasesKeysAndEffectsIsCounted(t *testing.T) {
	t.Parallel()
	srv := testkit.Broker(t)
	r := start(t, settings(t, "--nats-url", srv.URL(), "--dlq-monitor", "off"))
	js := testkit.JetStream(t, srv)
	says := &reporter{t: t, js: js}

	cto := startWorker(t, js, "cto", jetstream.ConsumerConfig{AckWait: time.Second, MaxDeliver: 5})
	first := cto.takes()
	says.says("cto", "step_intent", "cto-1", `{"message_id":"cto-1","attempt":1,"step_id":"charge","step_class":"keyed"}`)
	says.says("cto", "outbound_intent", "cto-1", `{"message_id":"cto-1","attempt":1,"step_id":"mail"}`)
	cto.must(first.InProgress())
	again := cto.takes() // It went silent.
	says.says("cto", "claimed", "cto-1", `{"message_id":"cto-1","attempt":2}`)
	says.says("cto", "outbound_intent", "cto-1", `{"message_id":"cto-1","attempt":2,"step_id":"mail"}`)
	says.says("cto", "outbound_sent", "cto-1", `{"message_id":"cto-1","attempt":2,"step_id":"mail"}`)
	cto.must(again.DoubleAck(t.Context()))

	ceo := startWorker(t, js, "ceo", jetstream.ConsumerConfig{AckWait: time.Minute, MaxDeliver: 5})
	says.says("ceo", "ingress_acked", "ceo-1", `{"message_id":"ceo-1"}`)
	says.says("ceo", "outbound_intent", "ceo-1", `{"message_id":"ceo-1","attempt":1,"step_id":"answer"}`)
	cto.must(ceo.takes().TermWithReason("bad input"))

	for n, body := range []string{`{"taskId":"cfo-1","x":1}`, `{"taskId":"cfo-1","x":1}`, `{"taskId":"cfo-1","x":2}`} {
		m := nats.NewMsg("genbrain.agents.cfo.tasks.work")
		m.Header.Set("Nats-Msg-Id", fmt.Sprintf("cfo-1-%d", n))
		m.Header.Set("X-Idempotency-Key", "cfo-1-v1")
		m.Data = []byte(body)
		_, err := js.PublishMsg(context.Background(), m)
		cto.must(err)
	}

	r.wantMetrics(
		`fleetglass_lease_renewals_failed_total{agent="cto",category="stopped"} 1`,
		`fleetglass_receipt_missing_recoveries_total{agent="cto",category="keyed"} 1`,
		`fleetglass_receipt_missing_recoveries_total{agent="cto",category="outbound"} 1`,
		`fleetglass_outbound_send_retries_total{agent="cto"} 1`,
		`fleetglass_missed_messages_total{agent="ceo",category="accepted_died"} 1`,
		`fleetglass_missed_messages_total{agent="ceo",category="announced_not_sent"} 1`,
		`fleetglass_idempotency_keys_reused_total{agent="cfo",category="same_payload"} 1`,
		`fleetglass_idempotency_keys_reused_total{agent="cfo",category="other_payload"} 1`,
	)
	testkit.Eventually(t, patience, func() error { // The figures of the API are those of the metrics.
		var stats api.FleetStats
		if err := r.get("/api/v1/stats/fleet", &stats); err != nil {
			return err
		}
		f := stats.Figures
		for name, c := range map[string]struct {
			got  api.Figure
			want float64
		}{"receipts": {f.ReceiptMissingRecoveries, 2}, "sent again": {f.OutboundSendRetries, 1}, "missed": {f.MissedMessageIncidents, 2}} {
			if c.got.Value == nil || *c.got.Value != c.want {
				return fmt.Errorf("%s: %+v, want %v", name, c.got, c.want)
			}
		}
		return nil
	})
	for _, never := range []string{`fleetglass_missed_messages_total{agent="cto"`, `fleetglass_lease_renewals_failed_total{agent="ceo"`} {
		if strings.Contains(r.page("/metrics", "text/plain"), never) {
			t.Errorf("%s… is there: nothing says that it happened", never)
		}
	}
}
