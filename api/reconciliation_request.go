package api

import (
	"net/http"
	"time"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// ReconcileRequest is the body of a call for a reconciliation.
type ReconcileRequest struct {
	From *string `json:"from,omitempty" doc:"Messages stored at or after this time: RFC 3339 or a date. Default: seven days before to." example:"2026-11-13"`
	To   *string `json:"to,omitempty" doc:"Messages stored before this time, in the same forms. Default: now." example:"2026-11-20T16:00:00Z"`
}

// readReconcileRequest reads the body. Relative times are not taken: a request that is sent again must mean the same.
func readReconcileRequest(r *http.Request) (reconcile.Period, error) {
	var period reconcile.Period
	in, err := readOptionalBody[ReconcileRequest](r, `{"from": "…", "to": "…"}`)
	if err != nil {
		return period, err
	}
	var wrongFrom, wrongTo error
	period.From, wrongFrom = bodyInstant("from", in.From)
	period.To, wrongTo = bodyInstant("to", in.To)
	return period, together(wrongFrom, wrongTo)
}

// bodyInstant reads a time of the body; absent and null are not known.
func bodyInstant(name string, text *string) (lifecycle.Micros, error) {
	if text == nil {
		return 0, nil
	}
	if at, ok := parseInstant(*text); ok {
		return at, nil
	}
	return 0, httperr.New(httperr.InvalidBody, nil).WithDetail("%s: not a time in RFC 3339 or a date, such as 2026-11-20.", name).
		WithField("/body/"+name, "not a time in RFC 3339 or a date, such as 2026-11-20")
}

// parseInstant reads a time in RFC 3339, or a date.
func parseInstant(text string) (lifecycle.Micros, bool) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1971 {
			return lifecycle.MicrosOf(t), true
		}
	}
	return 0, false
}
