package dlqtriage

import "fleetglass/decision"

// HistoryOf reads what was done about an entry from the actions on it, the newest first, each as the operation that it is. Of the last action it says
// what became of the message that it published.
func HistoryOf(e Entry, actions []decision.Action) ([]Operation, error) {
	out := make([]Operation, len(actions))
	for i, stored := range actions {
		a, err := readAction(stored)
		if err != nil {
			return nil, err
		}
		out[i] = operationOf(a)
		if item := &out[i].Items[0]; a.ID == e.Action && item.Message != nil {
			item.Outcome = e.Outcome
		}
	}
	return out, nil
}
