package api

import (
	"time"

	"fleetglass/alerts"
)

func exampleStanding() alerts.Standing {
	f := alerts.Alert{
		ID: "stale-5f0c2b1a9d8e", Rule: alerts.RuleStale, Severity: alerts.Warning, Title: "Lease past its deadline", What: "“Blog post 118” is stale",
		Why: "marketing, attempt 2 of 3. The deadline passed without an answer, and no newer attempt is known.", Next: "Check whether the worker is alive.",
		Labels: alerts.Labels{Agent: "marketing", Stream: "TASKS", Consumer: "marketing-task-worker"}, TaskID: "blog-post-118", Count: 1,
		Since: exampleTime(0), Deadline: exampleTime(0), StartedAt: exampleTime(time.Second), LastSeenAt: exampleTime(30 * time.Second),
		Acknowledged: &alerts.Acknowledgement{By: "ann", At: exampleTime(20 * time.Second), Note: "I restart the worker"},
	}
	return f.At(exampleTime(30*time.Second), nil)
}

func exampleAlert() Alert {
	return alertOf(exampleStanding(), []alerts.Delivery{{To: "webhook hooks.example.org", At: exampleTime(2 * time.Second), Status: alerts.DeliveryDone, Detail: "200 OK"}})
}

func exampleSilence() Silence {
	return silenceOf(alerts.Silence{
		ID: "sil-3kq5w7x2m4pz", Matchers: []alerts.Matcher{{Name: "agent", Op: alerts.Equal, Value: "marketing"}}, CreatedAt: exampleTime(0), Until: exampleTime(time.Hour),
		Comment: "we deploy", By: "ann",
	})
}

func exampleSilenced() Silenced {
	s := exampleSilence()
	return Silenced{ID: Text(s.ID), Silence: Maybe[Silence]{&s}, Mutes: []Alert{exampleAlert()}}
}
