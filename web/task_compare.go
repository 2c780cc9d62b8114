package web

import (
	"context"
	"fmt"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// compareTab puts two attempts side by side: those that the address names, else the last two.
func (w *Web) compareTab(ctx context.Context, v *taskView) (views.CompareView, error) {
	events, err := w.cfg.Query.Events(ctx, v.id, lifecycle.EventPosition{}, timelineEvents)
	if err != nil {
		return views.CompareView{}, err
	}
	out := views.Compare(v.trace.Trace, views.Arrange(events, v.trace.Trace), v.query["attempt"])
	if len(events) >= timelineEvents {
		out.Note = fmt.Sprintf("Only the first %s events were looked at: what later ones report is missing here.", views.Count(timelineEvents))
	}
	return out, nil
}

// attempts counts those of all messages.
func (v taskView) attempts() int {
	n := 0
	for _, m := range v.trace.Messages {
		for _, p := range m.Parts() {
			n += len(p.Attempts)
		}
	}
	return n
}
