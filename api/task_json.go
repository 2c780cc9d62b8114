package api

import (
	"bytes"
	"context"
)

// TaskJSON writes what [API.getTask] answers about a task, for the page of the task. It errors as the question does.
func (a *API) TaskJSON(ctx context.Context, id string) ([]byte, error) {
	t, err := a.cfg.Query.Trace(ctx, id)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = writeJSON(&out, traceOf(t))
	return out.Bytes(), err
}
