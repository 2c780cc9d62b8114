package lifecycle

import "time"

// MinutesKept is how long rollups by the minute are kept, whatever the retention of tasks is.
const MinutesKept = 48 * time.Hour

// GapsKept is how long gaps are kept at least, whatever the retention of tasks is: a little longer than the year of which the statistics show what was
// observed. Open tasks are kept too, and lie in them.
const GapsKept = 400 * 24 * time.Hour

// MinuteMetrics lists the metrics whose buckets are minutes.
func MinuteMetrics() []Metric {
	return []Metric{MetricGivenMin, MetricDoneMin, MetricDiedMin, MetricPublishedMin, MetricCompletedMin, MetricFailedMin, MetricQueueMin, MetricRunningMin}
}

// Deleted notes that a task is gone, as it was shown last. What is counted now follows; the hours and months that the task was part of
// stay as they are.
func (t Tally) Deleted(listed bool, agent string, state State) {
	if listed {
		t[Cell{Metric: MetricState, Agent: agent, Label: string(state)}]--
	}
}
