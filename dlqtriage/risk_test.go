package dlqtriage

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

var riskBegin = lifecycle.MicrosOf(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))

// fleetPast is a month in which tasks die by known rates: marketing's scans often, everything twice as often at night.
func fleetPast(seed uint64, days int) (cells []RiskCell) {
	r := rand.New(rand.NewPCG(seed, 1))
	for hour := range days * 24 {
		for _, g := range []struct {
			agent, kind string
			rate        float64
		}{{"cto", "code_review", 0.01}, {"marketing", "scan", 0.2}, {"marketing", "content_creation", 0.02}} {
			c := RiskCell{Agent: g.agent, Type: g.kind, Hour: riskBegin.Add(time.Duration(hour) * time.Hour), Tasks: int64(5 + r.IntN(10))}
			rate := g.rate
			if hour%24 < 6 {
				rate *= 2
			}
			for range c.Tasks {
				if r.Float64() < rate {
					c.Died++
				}
			}
			cells = append(cells, c)
		}
	}
	return cells
}

func ask(m *RiskModel, agent, kind string, hour int) Risk {
	return m.Risk(RiskQuestion{Agent: agent, Type: kind, At: riskBegin.Add(time.Duration(hour) * time.Hour), Load: 10})
}

func TestTheRiskFollowsWhatHappened(t *testing.T) {
	t.Parallel()
	m := NewRiskModel(fleetPast(1, 30))
	for _, c := range []struct {
		agent, kind string
		hour        int
		low, high   float64
	}{
		{"marketing", "scan", 12, 0.12, 0.28}, {"marketing", "content_creation", 12, 0.01, 0.05}, {"cto", "code_review", 12, 0.003, 0.025},
	} {
		got := ask(m, c.agent, c.kind, c.hour)
		if got.Probability < c.low || got.Probability > c.high || got.Low > got.Probability || got.High < got.Probability || got.Sample < 3000 {
			t.Errorf("%s %s: got %+v, want between %v and %v", c.agent, c.kind, got, c.low, c.high)
		}
		if night := ask(m, c.agent, c.kind, 3); night.Probability < 1.3*got.Probability {
			t.Errorf("%s %s by night: %v, by day %v", c.agent, c.kind, night.Probability, got.Probability)
		}
		all := odds(m.base())
		for _, f := range got.Factors {
			all *= f.Effect
		}
		if math.Abs(all/(1+all)-got.Probability) > 1e-9 {
			t.Errorf("the factors %v do not explain %v", got.Factors, got.Probability)
		}
	}
}

func TestAFewTasksDoNotSayMuch(t *testing.T) {
	t.Parallel()
	cells := append(fleetPast(2, 30), RiskCell{Agent: "cso", Type: "compliance", Hour: riskBegin, Tasks: 2, Died: 2})
	m := NewRiskModel(cells)
	few, many := ask(m, "cso", "compliance", 12), ask(m, "marketing", "scan", 12)
	if few.Probability > 0.6 || few.Sample != 2 {
		t.Errorf("two deaths among two tasks: %+v", few)
	}
	if few.High-few.Low < 4*(many.High-many.Low) {
		t.Errorf("the interval of two tasks is %v to %v, that of thousands %v to %v", few.Low, few.High, many.Low, many.High)
	}
	unknown := ask(m, "nobody", "nothing", 12)
	if unknown.Sample != 0 || math.Abs(unknown.Factors[0].Effect-1) > 1e-9 || math.Abs(unknown.Factors[1].Effect-1) > 1e-9 {
		t.Errorf("an agent that nobody knows has the fleet's risk: %+v", unknown)
	}
}

func TestWithoutAPastNothingIsKnown(t *testing.T) {
	t.Parallel()
	got := ask(NewRiskModel(nil), "cto", "code_review", 0)
	if got.Sample != 0 || got.Low != 0 || got.High != 1 {
		t.Errorf("got %+v, want the widest interval", got)
	}
	if c := Calibrate(nil); c != nil {
		t.Errorf("calibration %+v", c)
	}
	if c := Calibrate(fleetPast(1, 30)[:1]); c != nil {
		t.Errorf("calibration on one hour: %+v", c)
	}
}

func TestABusyHourIsAFactor(t *testing.T) {
	t.Parallel()
	var cells []RiskCell
	for hour := range 200 {
		c := RiskCell{Agent: "cto", Type: "code_review", Hour: riskBegin.Add(time.Duration(hour) * time.Hour), Tasks: 10}
		if hour%5 == 0 {
			c.Tasks, c.Died = 60, 12
		}
		cells = append(cells, c)
	}
	m := NewRiskModel(cells)
	at := riskBegin.Add(12 * time.Hour)
	busy := m.Risk(RiskQuestion{Agent: "cto", Type: "code_review", At: at, Load: 60})
	quiet := m.Risk(RiskQuestion{Agent: "cto", Type: "code_review", At: at, Load: 5})
	if busy.Factors[3].Value != "busy" || quiet.Factors[3].Value != "quiet" || busy.Probability < 2*quiet.Probability {
		t.Errorf("busy %+v\nquiet %+v", busy, quiet)
	}
}

func TestTheCalibrationMeasuresTheFuture(t *testing.T) {
	t.Parallel()
	c := Calibrate(fleetPast(3, 40))
	if c == nil || c.Tasks < 5000 || c.Brier >= c.Base {
		t.Fatalf("predictions of a fleet with steady rates are worth something: %+v", c)
	}
	var tasks int64
	for _, b := range c.Bins {
		tasks += b.Tasks
		if b.Tasks > 1000 && math.Abs(b.Predicted-b.Observed) > 0.5*b.Observed+0.01 {
			t.Errorf("predicted %v, observed %v for %d tasks", b.Predicted, b.Observed, b.Tasks)
		}
	}
	if tasks != c.Tasks {
		t.Errorf("%d tasks in bins, %d in all", tasks, c.Tasks)
	}
	changed := fleetPast(3, 40)
	for i := range changed {
		if i > len(changed)*3/4 && changed[i].Agent == "cto" {
			changed[i].Died = changed[i].Tasks / 2
		}
	}
	if now := Calibrate(changed); now.Brier < 2*c.Brier {
		t.Errorf("when the fleet changes, the error is seen: %v after %v", now.Brier, c.Brier)
	}
}
