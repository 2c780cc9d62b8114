package api

import (
	"context"
	"math"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/httperr"
	"fleetglass/query"
)

// RiskRequest is the body of the risk call.
type RiskRequest struct {
	Agent string  `json:"agent" doc:"The agent that would take the task." example:"marketing"`
	Type  string  `json:"type" doc:"The type of the task." example:"content_creation"`
	At    *string `json:"at,omitempty" doc:"When it would be published; RFC 3339 or a date. Default now." example:"2026-11-20T16:00:00Z"`
}

// Risk is how likely a task is to die.
type Risk struct {
	Probability float64      `json:"probability" doc:"That a task of this type and agent dies." example:"0.0045"`
	Interval    [2]float64   `json:"interval" doc:"Nine times in ten the true rate lies in it, as far as the sample tells." example:"[0.002,0.011]"`
	Sample      int64        `json:"sample" doc:"Tasks of this type and agent that the answer rests on." example:"640"`
	Factors     []RiskFactor `json:"factors" nullable:"false" doc:"What makes it more or less likely than for the fleet."`
}

// RiskFactor is something that makes the risk higher or lower.
type RiskFactor struct {
	Name   string  `json:"name" enum:"agent,type,hour,load" example:"hour"`
	Value  string  `json:"value" example:"3:00 UTC"`
	Effect float64 `json:"effect" doc:"By how much the odds of dying are multiplied." example:"1.8"`
	Sample int64   `json:"sample" doc:"Tasks that the factor rests on." example:"210"`
}

// RiskAnswer is the answer of the risk call.
type RiskAnswer struct {
	Risk
	From        Instant            `json:"from" doc:"The past that it rests on begins here."`
	To          Instant            `json:"to"`
	Calibration Maybe[Calibration] `json:"calibration" doc:"How well such answers held; null where the past is too short to tell."`
}

// Calibration is how well predictions held: what was known after three quarters of the past predicted the last quarter.
type Calibration struct {
	From  Instant          `json:"from" doc:"The span that was predicted."`
	To    Instant          `json:"to"`
	Tasks int64            `json:"tasks" example:"6400"`
	Died  int64            `json:"died" example:"29"`
	Brier float64          `json:"brier" doc:"Mean squared error: 0 is perfect." example:"0.0043"`
	Base  float64          `json:"brier_of_base_rate" doc:"The brier of always saying the fleet's rate: answers are useful where their brier is below it." example:"0.0045"`
	Bins  []CalibrationBin `json:"bins" nullable:"false"`
}

// CalibrationBin compares predictions with what happened.
type CalibrationBin struct {
	From      float64 `json:"from" example:"0.005"`
	To        float64 `json:"to" example:"0.01"`
	Predicted float64 `json:"predicted" doc:"Mean of the predictions in the bin." example:"0.0071"`
	Observed  float64 `json:"observed" doc:"Share of these tasks that died." example:"0.0066"`
	Tasks     int64   `json:"tasks" example:"3000"`
}

const riskDetail = "Predicted from the last 30 days, by the rates of the agent, the type, the hour and the load. A rate of few tasks is moved " +
	"towards that of the larger group. Nothing is stored."

func (a *API) describeRisk() {
	schemas := a.huma.OpenAPI().Components.Schemas
	register(a, call{
		id: "predict-risk", needs: access.Read, method: http.MethodPost, path: Base + "/risk", tag: "triage", summary: "How likely is a task to die?",
		detail: riskDetail, example: exampleRisk(), failures: []httperr.Code{httperr.InvalidBody, httperr.BodyTooLarge},
		body: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
			Schema: schemas.Schema(reflect.TypeFor[RiskRequest](), true, ""), Example: RiskRequest{Agent: "marketing", Type: "content_creation"},
		}}},
	}, a.risk)
}

func (a *API) risk(ctx context.Context, _ *struct{}) (*reply[RiskAnswer], error) {
	in, err := readBody[RiskRequest](requestOf(ctx), `{"agent": "…", "type": "…", "at": "…"}`)
	if err != nil {
		return nil, err
	}
	var nobody error
	if in.Agent == "" {
		nobody = invalidField("agent", "name the agent")
	}
	q := query.RiskQuestion{Agent: in.Agent, Type: in.Type}
	q.At, err = bodyInstant("at", in.At)
	if err := together(nobody, err); err != nil {
		return nil, err
	}
	found, err := a.cfg.Query.Risk(ctx, q)
	if err != nil {
		return nil, err
	}
	return uncached(riskAnswerOf(found)), nil
}

func riskAnswerOf(r query.Risk) RiskAnswer {
	out := RiskAnswer{Risk: riskOf(r.Risk), From: Instant(r.From), To: Instant(r.To)}
	if c := r.Calibration; c != nil {
		out.Calibration = just(calibrationOf(*c))
	}
	return out
}

func riskOf(r dlqtriage.Risk) Risk {
	out := Risk{Probability: rounded(r.Probability), Interval: [2]float64{rounded(r.Low), rounded(r.High)}, Sample: r.Sample, Factors: []RiskFactor{}}
	for _, f := range r.Factors {
		out.Factors = append(out.Factors, RiskFactor{Name: f.Name, Value: f.Value, Effect: rounded(f.Effect), Sample: f.Sample})
	}
	return out
}

func calibrationOf(c dlqtriage.Calibration) Calibration {
	out := Calibration{
		From: Instant(c.From), To: Instant(c.To), Tasks: c.Tasks, Died: c.Died, Brier: rounded(c.Brier), Base: rounded(c.Base), Bins: []CalibrationBin{},
	}
	for _, b := range c.Bins {
		out.Bins = append(out.Bins, CalibrationBin{From: b.From, To: b.To, Predicted: rounded(b.Predicted), Observed: rounded(b.Observed), Tasks: b.Tasks})
	}
	return out
}

// rounded leaves out the digits that mean nothing.
func rounded(v float64) float64 { return math.Round(v*1e6) / 1e6 }

func exampleRisk() RiskAnswer {
	return riskAnswerOf(query.Risk{
		Risk: dlqtriage.Risk{
			Probability: 0.0082, Low: 0.003, High: 0.02, Sample: 640,
			Factors: []dlqtriage.RiskFactor{{Name: "agent", Value: "marketing", Effect: 1.2, Sample: 2400}, {Name: "hour", Value: "3:00 UTC", Effect: 1.8, Sample: 210}},
		},
		From: exampleTime(-30 * 24 * 3600e9), To: exampleTime(0),
		Calibration: &dlqtriage.Calibration{
			From: exampleTime(-7 * 24 * 3600e9), To: exampleTime(0), Tasks: 6400, Died: 29, Brier: 0.0043, Base: 0.0045,
			Bins: []dlqtriage.CalibrationBin{{From: 0, To: 0.005, Predicted: 0.0031, Observed: 0.003, Tasks: 3400}},
		},
	})
}
