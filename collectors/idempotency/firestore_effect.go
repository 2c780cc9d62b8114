package idempotency

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// decodeEffect turns an entry of a side-effect log into an event of its task: the one that the entry names (taskId or task_id), else the
// one that its key names by the fleet's rule, <task id>-<version>. A key of another form stands for itself. It errors when the entry
// has neither action, status nor side effects.
func decodeEffect(d document, into *lifecycle.Batch) error {
	action, status := d.text("action"), d.text("status")
	effects := sideEffects(d.fields["side_effects"])
	if action == "" && status == "" && effects == "" {
		return errors.New("it has no action, no status and no side effects")
	}
	r, err := entryRecord(d, effects)
	if err != nil {
		return err
	}
	e := d.event(lifecycle.EffectLogged)
	e.TaskID, e.Agent = r.TaskID, r.AgentID
	e.Detail = lifecycle.Detail{
		Naming:        lifecycle.Naming{IdempotencyKey: r.IdempotencyKey},
		Timing:        lifecycle.Timing{CreatedAt: r.CompletedAt},
		StepReport:    lifecycle.StepReport{Tool: action},
		OutcomeReport: lifecycle.OutcomeReport{Status: status, ResultRef: r.ResultSummary},
	}
	into.Events = append(into.Events, e)
	return nil
}

// entryRecord reads what an entry has in common with a record, as leniently and as carefully.
func entryRecord(d document, effects string) (fleet.Record, error) {
	key := d.firstText("key")
	if key == "" {
		key = d.id()
	}
	task := d.firstText("taskId", "task_id")
	if task == "" {
		task = taskOfKey(key)
	}
	agent := d.firstText("agent")
	if agent == "" {
		agent = agentOfPath(d.path)
	}
	body, err := json.Marshal(map[string]any{
		"taskId": task, "agentId": agent, "idempotencyKey": key, "resultSummary": effects, "completedAt": plain(d.fields["completed_at"]),
	})
	if err != nil {
		return fleet.Record{}, fmt.Errorf("read entry of the side-effect log: %w", err)
	}
	return fleet.ReadRecord(body)
}

// taskOfKey takes the version off an idempotency key.
func taskOfKey(key string) string {
	i := strings.LastIndexByte(key, '-')
	if i <= 0 {
		return key
	}
	if n, err := strconv.Atoi(key[i+1:]); err != nil || n < 1 || fleet.IdempotencyKey(key[:i], strconv.Itoa(n)) != key {
		return key
	}
	return key[:i]
}

// agentOfPath is the agent whose log the entry lies in: agent-state/{agent}/idempotency-log/{key}.
func agentOfPath(path string) string {
	elements := strings.Split(path, "/")
	if len(elements) < 4 {
		return ""
	}
	return elements[len(elements)-3]
}

// sideEffects lists effects as "type ref", in the order of the entry. What is of another form is left out; the raw line has it.
func sideEffects(v any) string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		effect, _ := x.(map[string]any)
		kind, _ := effect["type"].(string)
		ref, _ := effect["ref"].(string)
		if ref == "" {
			ref, _ = effect["slug"].(string)
		}
		if text := strings.TrimSpace(kind + " " + ref); text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}
