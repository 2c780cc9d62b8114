package postgres

import (
	"context"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"
)

// summaryList are the columns of a task in a list, in the order of summaryRow.targets.
const summaryList = `t.task_id, t.last_event, t.published, t.cost, t.stream, t.seq, t.summary`

// summaryRow is a task in a list as it was read.
type summaryRow struct {
	task                            []byte
	lastEvent, published, cost, seq int64
	stream                          int32
	summary                         []byte
}

func (r *summaryRow) targets() []any {
	return []any{&r.task, &r.lastEvent, &r.published, &r.cost, &r.stream, &r.seq, &r.summary}
}

// cursor is the place of the task in an order.
func (r *summaryRow) cursor(o columns.Order) *lifecycle.Cursor {
	return o.Cursor(lifecycle.TaskSummary{
		TaskID: string(r.task), LastEventAt: lifecycle.Micros(r.lastEvent), PublishedAt: lifecycle.Micros(r.published), Used: lifecycle.ModelTotal{Cost: r.cost},
	})
}

func (s *Store) summaries(ctx context.Context, rows []summaryRow) ([]lifecycle.TaskSummary, error) {
	out := make([]lifecycle.TaskSummary, len(rows))
	shared := rowcodec.Texts{}
	for i, r := range rows {
		summary, err := s.summary(ctx, r, shared)
		if err != nil {
			return nil, err
		}
		out[i] = summary
	}
	return out, nil
}

func (s *Store) summary(ctx context.Context, r summaryRow, shared rowcodec.Texts) (lifecycle.TaskSummary, error) {
	message, err := s.key(ctx, r.stream, r.seq)
	if err != nil {
		return lifecycle.TaskSummary{}, err
	}
	out := lifecycle.TaskSummary{TaskID: string(r.task), Message: message}
	err = rowcodec.ReadSummary(&out, r.summary, shared)
	return out, err
}
