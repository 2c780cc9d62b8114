package dlqtriage

import (
	"cmp"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// Calibration is how well the predictions would have held in the past: a model that knew only the first three quarters of the time predicted
// the last one.
type Calibration struct {
	From, To lifecycle.Micros // The span that was predicted.
	Tasks    int64            // In that span.
	Died     int64
	Brier    float64          // Mean squared error of the predictions: 0 is perfect.
	Base     float64          // That of always predicting the fleet's rate: predictions that are not below it are worth nothing.
	Bins     []CalibrationBin // In the order of what was predicted; those without a task are left out.
}

// CalibrationBin compares what was predicted for tasks of about one risk with what happened to them.
type CalibrationBin struct {
	From, To  float64 // Predicted probabilities: From <= p < To.
	Predicted float64 // Their mean.
	Observed  float64 // The share that died.
	Tasks     int64
}

// binEdges part the predictions. Deaths are rare, so the bins are narrow below.
var binEdges = []float64{0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.000001}

// learned is the share of the time that the model of a calibration knows.
const learned = 0.75

// Calibrate measures predictions on the past. It is nil where the past is too short to learn and to predict.
func Calibrate(cells []RiskCell) *Calibration {
	if len(cells) == 0 {
		return nil
	}
	cells = slices.Clone(cells)
	slices.SortFunc(cells, func(a, b RiskCell) int { return cmp.Compare(a.Hour, b.Hour) })
	first, last := cells[0].Hour, cells[len(cells)-1].Hour.Add(time.Hour)
	split := first.Add(time.Duration(float64(last.Sub(first)) * learned)).Truncate(time.Hour)
	at, _ := slices.BinarySearchFunc(cells, split, func(c RiskCell, t lifecycle.Micros) int { return cmp.Compare(c.Hour, t) })
	if at == 0 || at == len(cells) {
		return nil
	}
	c := &Calibration{From: split, To: last}
	c.measure(NewRiskModel(cells[:at]), cells[at:])
	if c.Tasks == 0 {
		return nil
	}
	return c
}

func (c *Calibration) measure(m *RiskModel, cells []RiskCell) {
	bins := make([]CalibrationBin, len(binEdges)-1)
	base := m.base()
	for _, cell := range cells {
		tasks, died := float64(cell.Tasks), float64(min(cell.Died, cell.Tasks)) // One that was published in the hour before counts there.
		p := m.Risk(RiskQuestion{Agent: cell.Agent, Type: cell.Type, At: cell.Hour, Load: cell.Tasks}).Probability
		c.Tasks += cell.Tasks
		c.Died += int64(died)
		c.Brier += died*(1-p)*(1-p) + (tasks-died)*p*p
		c.Base += died*(1-base)*(1-base) + (tasks-died)*base*base
		b := &bins[binOf(p)]
		b.Tasks += cell.Tasks
		b.Predicted += p * tasks
		b.Observed += died
	}
	if c.Tasks == 0 {
		return
	}
	c.Brier /= float64(c.Tasks)
	c.Base /= float64(c.Tasks)
	c.Bins = filled(bins)
}

func binOf(p float64) int {
	for i := range len(binEdges) - 2 {
		if p < binEdges[i+1] {
			return i
		}
	}
	return len(binEdges) - 2
}

// filled are the bins that have tasks, with means instead of sums.
func filled(bins []CalibrationBin) []CalibrationBin {
	out := []CalibrationBin{}
	for i, b := range bins {
		if b.Tasks == 0 {
			continue
		}
		b.From, b.To = binEdges[i], min(1, binEdges[i+1])
		b.Predicted /= float64(b.Tasks)
		b.Observed /= float64(b.Tasks)
		out = append(out, b)
	}
	return out
}
