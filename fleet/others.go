package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// TaskStreams are the streams, of those with these configurations, that take tasks of the fleet from publishers: by their subjects. A mirror has
// none, so it is never one of them.
func (c Contract) TaskStreams(configs []jetstream.StreamConfig) []string {
	var out []string
	for _, cfg := range configs {
		if _, _, takes := overlap([]string{c.TaskSubjects()}, cfg.Subjects); takes && cfg.Mirror == nil {
			out = append(out, cfg.Name)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(a, b) })
	return out
}

// others are the streams beside TASKS that take tasks of the fleet.
func (c Contract) others(existing map[string]map[string]any) []string {
	var configs []jetstream.StreamConfig
	for _, name := range slices.Sorted(maps.Keys(existing)) {
		if name != StreamTasks && existing[name]["mirror"] == nil {
			configs = append(configs, jetstream.StreamConfig{Name: name, Subjects: asTexts(existing[name]["subjects"])})
		}
	}
	return c.TaskStreams(configs)
}

// planOther plans what Fleetglass needs of a stream that takes tasks beside TASKS: that it republishes them. Nothing else is touched.
func planOther(name string, existing map[string]map[string]any, s Streams) (Change, error) {
	want, err := fieldsOf(jetstream.StreamConfig{Name: name, RePublish: s.republish()})
	if err != nil {
		return Change{}, err
	}
	have := existing[name]
	c := Change{Stream: name, Action: ActionNone, config: maps.Clone(have)}
	keepBodies(want, have, s.Bodies)
	c.checkTasks(have, s.Contract)
	c.compare("republish", want["republish"], have["republish"], true)
	c.settle()
	return c, nil
}

// planWithout is the plan for TASKS where it does not exist and other streams store the tasks: nothing is created.
func planWithout(want map[string]any, others []string) Change {
	return Change{Stream: StreamTasks, Action: ActionNone, Kept: []FieldChange{
		{Field: "subjects", Old: "stored by " + strings.Join(others, ", "), New: strings.Join(asTexts(want["subjects"]), ", ")},
	}}
}

// CaptureSubjects are the subjects under which OBS_PUB records what is published to the given ones.
func (c Contract) CaptureSubjects(subjects []string) []string {
	var out []string
	for _, subject := range subjects {
		agent, taskType, ok := c.ParseTaskSubject(subject)
		switch {
		case ok:
			out = append(out, pubPrefix+"."+agent+"."+taskType)
		case subjectsOverlap(c.TaskSubjects(), subject):
			return []string{pubPrefix + ".>"}
		}
	}
	return out
}
