package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// terminated tells the story of a task that its worker gave up.
func (w *teller) terminated(task, agent string, seq uint64, reason string) {
	w.published(task, agent, seq)
	w.delivered(task, agent, seq, 1)
	w.did(lifecycle.Terminated, task, agent, seq, 1, func(e *lifecycle.Event) {
		e.Detail.Reason, e.Raw = reason, []byte("$JS.ACK.TASKS."+fleet.WorkerName(agent)+"\n+TERM "+reason)
	})
}

func TestTheRiskIsLearnedFromWhatDied(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		seq := uint64(0)
		for hour := range 12 {
			for n := range 10 {
				seq++
				if n < 4 {
					f.terminated(fmt.Sprintf("m-%d", seq), "marketing", seq, "no idea")
				} else {
					f.completed(fmt.Sprintf("c-%d", seq), "cto", seq)
				}
			}
			if hour < 11 {
				f.pass(time.Hour)
			}
		}
		f.commit()
		marketing := post[RiskAnswer](f, "/api/v1/risk", `{"agent":"marketing","type":"content_creation"}`)
		cto := post[RiskAnswer](f, "/api/v1/risk", `{"agent":"cto","type":"content_creation"}`)
		if marketing.Probability < 0.7 || cto.Probability > 0.2 || marketing.Sample != 48 || cto.Sample != 72 || len(cto.Factors) != 4 {
			t.Errorf("marketing %+v\ncto %+v", marketing.Risk, cto.Risk)
		}
		for _, r := range []RiskAnswer{marketing, cto} {
			if r.Interval[0] > r.Probability || r.Interval[1] < r.Probability {
				t.Errorf("the interval %v does not hold %v", r.Interval, r.Probability)
			}
			if c := r.Calibration.Value; c == nil || c.Tasks < 20 || c.Brier >= c.Base {
				t.Errorf("calibration %+v", c)
			}
		}
		later := post[RiskAnswer](f, "/api/v1/risk", `{"agent":"cto","type":"content_creation","at":"2030-01-01"}`)
		if later.Factors[3].Value != "usual" || later.Factors[2].Value != "0:00 UTC" {
			t.Errorf("what lies ahead has no load: %+v", later.Factors)
		}
	})
}

func TestARiskThatSaysTooLittleIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for _, body := range []string{`{}`, ``, `{"type":"a"}`, `{"agent":"a","at":"soon"}`, `{"agent":"a","of":1}`} {
		f.refused(f.do(http.MethodPost, "/api/v1/risk", body), 400, "invalid_body")
	}
	if got := post[RiskAnswer](f, "/api/v1/risk", `{"agent":"a","type":"b"}`); got.Sample != 0 || got.Interval != [2]float64{0, 1} || got.Calibration.Value != nil {
		t.Errorf("without a past: %+v", got)
	}
}
