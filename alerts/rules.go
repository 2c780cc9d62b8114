package alerts

import (
	"time"

	"fleetglass/lifecycle"
)

// The rules. Their ids are those of the runbooks.
const (
	RuleOrphaned      RuleID = "orphaned_message"
	RuleNoConsumer    RuleID = "subject_without_consumer"
	RuleBacklogIdle   RuleID = "backlog_idle"
	RuleConsumerGone  RuleID = "consumer_gone"
	RuleNotInDLQ      RuleID = "exhausted_not_in_dlq"
	RuleExecutedTwice RuleID = "duplicate_execution"
	RulePresumedDead  RuleID = "presumed_dead"
	RuleStale         RuleID = "stale"
	RuleZombie        RuleID = "zombie"
	RuleStuck         RuleID = "stuck"
	RuleWeakAccept    RuleID = "weak_accept"
	RuleExpiring      RuleID = "expiring"
	RuleForged        RuleID = "forged_evidence"
	RuleRemoved       RuleID = "removed_by_limit"
	RuleKeyConflict   RuleID = "key_conflict"
	RulePaused        RuleID = "consumer_paused"
	RuleQueueAge      RuleID = "pending_queue_age"
	RuleBacklogGrows  RuleID = "backlog_grows"
	RuleDiscrepancy   RuleID = "reconciliation_discrepancy"
	RuleIncident      RuleID = "dlq_incident"
	RuleDLQUntouched  RuleID = "dlq_untouched"
	RuleUnknown       RuleID = "outcome_unknown"
	RuleTrapCritical  RuleID = "doctor_critical"
	RuleTrapWarning   RuleID = "doctor_warning"
	RulePartDown      RuleID = "part_down"
	RuleFeedSilent    RuleID = "feed_silent"
	RuleCollectorLag  RuleID = "collector_lag"
	RuleCaptureGap    RuleID = "capture_gap"
	RuleUnjudged      RuleID = "tasks_unjudged"
)

// Defaults are the built-in rules (SPEC 6), the worst first; those about our own observation come last. A file may change severities and
// durations ([ParseRules]).
func Defaults() Rules {
	return Rules{
		{
			ID: RuleOrphaned, Severity: Critical, For: 30 * time.Second, Title: "Messages without a consumer", find: findOrphaned,
			Why:  "No consumer's filter matches what was published, so no worker gets it.",
			Next: "Start the agent, or correct the filter.",
		}, {
			ID: RuleBacklogIdle, Severity: Critical, For: 0, Title: "Backlog while the agent is idle", find: findBacklogIdle,
			Threshold: time.Minute, Means: "how long messages may wait while nothing is delivered and nobody asks for work",
			Why:  "Nothing was delivered meanwhile, and nobody asks for work.",
			Next: "Check that the agent runs, and that it can reach the broker.",
		}, {
			ID: RuleBacklogGrows, Severity: Critical, For: time.Minute, Title: "Backlog grows", find: findBacklogGrows,
			Threshold: time.Hour, Means: "how long an agent may need for the messages that wait, at its pace of the last 15 minutes, while more come than end",
			Why:  "In the last 15 minutes more messages came than ended.",
			Next: "Add workers or raise max_ack_pending, or publish less.",
		}, {
			ID: RuleConsumerGone, Severity: Critical, For: 30 * time.Second, Title: "Consumer deleted with work waiting", find: findConsumerGone,
			Why:  "Messages wait for it, and nothing delivers them until a consumer exists.",
			Next: "Start the agent, or create the consumer again with its old configuration.",
		}, {
			ID: RuleNotInDLQ, Severity: Critical, For: time.Minute, Title: "Dead and not in the DLQ", find: findNotInDLQ,
			Why:  "No agent will get them again.",
			Next: "Decide about each message, and find out why no monitor copied it to the DLQ.",
		}, {
			ID: RuleExecutedTwice, Severity: Critical, Title: "A duplicate reached execution", find: findExecutedTwice,
			Threshold: 24 * time.Hour, Means: "how long after the task's last event it is shown",
			Why:  "The work ran again after it was complete: its effect may exist twice.",
			Next: "Open the task, look for the second effect and clean it up.",
		}, {
			ID: RulePresumedDead, Severity: Critical, Title: "Presumed dead", find: leasesThat(lifecycle.StalePresumedDead),
			Why:  "The deadline of the last attempt passed without an answer; the broker may never say so.",
			Next: "Open the page In flight and follow its recommendation: retry only where it says that it is safe.",
		}, {
			ID: RuleStale, Severity: Warning, Title: "Lease past its deadline", find: leasesThat(lifecycle.StaleLease),
			Why:  "The deadline passed without an answer, and no newer attempt is known.",
			Next: "Check whether the worker is alive. The broker delivers the message again once a worker can take it.",
		}, {
			ID: RuleZombie, Severity: Critical, Title: "Zombie: an older attempt acts", find: leasesThat(lifecycle.StaleZombie),
			Why:  "An older attempt acted after a newer one began: both may have effects.",
			Next: "Stop the older worker, and look for its effects before you trust the result.",
		}, {
			ID: RuleStuck, Severity: Warning, Title: "Stuck", find: leasesThat(lifecycle.StaleStuck),
			Why:  "Heartbeats continue, but it runs far longer than its type usually takes.",
			Next: "Check what the worker is doing. It holds its slot until it answers, or its heartbeats stop.",
		}, {
			ID: RuleForged, Severity: Critical, Title: "Forged or conflicting evidence", find: findForged,
			Threshold: 24 * time.Hour, Means: "how long after the task's last event it is shown",
			Why:  "Lines about the message contradict each other or the broker's own state. What contradicts does not count.",
			Next: "Check who may publish to the broker's own subjects; fleetglass provision --permissions shows what each part needs.",
		}, {
			ID: RuleRemoved, Severity: Critical, Title: "Messages removed by a limit", find: findRemoved,
			Threshold: 24 * time.Hour, Means: "how long after their removal they are shown",
			Why:  "The stream dropped them before any worker had them: by its age, a TTL, or a limit that made room.",
			Next: "Publish the work again where it still matters, and raise the limit or add workers.",
		}, {
			ID: RuleKeyConflict, Severity: Warning, Title: "Idempotency key conflict", find: findKeyConflict,
			Threshold: 24 * time.Hour, Means: "how long after the task's last event it is shown",
			Why:  "One idempotency key stands for different payloads: an agent that checks the key runs one of them only, another one both.",
			Next: "Decide which payload is meant, and give the other a key of its own.",
		}, {
			ID: RulePaused, Severity: Warning, For: time.Minute, Title: "Consumer paused with work waiting", find: findPaused,
			Why:  "It delivers nothing until somebody resumes it, or until its pause ends.",
			Next: "Resume it, unless somebody paused it on purpose.",
		}, {
			ID: RuleNoConsumer, Severity: Warning, For: 5 * time.Minute, Title: "Subject without a consumer", find: findNoConsumer,
			Why:  "Tasks were published for this agent today, and no consumer takes its subjects now: nobody will get the next one.",
			Next: "Start the agent, or stop publishing to it.",
		}, {
			ID: RuleQueueAge, Severity: Warning, Title: "Tasks wait too long", find: findQueueAge,
			Threshold: 15 * time.Minute, Means: "how long ago the oldest message that no worker of an agent has may have been stored",
			Why:  "No worker has the oldest message now, and it was stored longer ago than the threshold allows.",
			Next: "Add workers, raise max_ack_pending, or find out what holds the agent up.",
		}, {
			ID: RuleDiscrepancy, Severity: Warning, Title: "Reconciliation found discrepancies", find: findDiscrepancy,
			Why:  "Published and completed work do not add up.",
			Next: "Open the reconciliation: each list says what to do.",
		}, {
			ID: RuleIncident, Severity: Warning, Title: "Many dead letters of one cause", find: findIncidents,
			Why:  "Far more messages than usual die of one cause.",
			Next: "Look for the cause first: what is retried meanwhile dies of it again.",
		}, {
			ID: RuleDLQUntouched, Severity: Warning, For: time.Hour, Title: "Dead letters wait for a decision", find: findDLQUntouched,
			Why:  "Nobody has decided yet.",
			Next: "Open the DLQ: each entry has a plan with reasons.",
		}, {
			ID: RuleTrapCritical, Severity: Critical, For: time.Minute, Title: "A trap in the broker's configuration", find: trapsThat(Critical),
			Why:  "The configuration loses work, does it twice, or hides it.",
			Next: "Open the doctor's page: each finding has the command that mends it.",
		}, {
			ID: RuleTrapWarning, Severity: Warning, For: time.Minute, Title: "A weakness of the broker's configuration", find: trapsThat(Warning),
			Why:  "The configuration goes wrong sooner or later.",
			Next: "Open the doctor's page: each finding has the command that mends it.",
		}, {
			ID: RuleWeakAccept, Severity: Warning, Title: "Claimed, never started", find: leasesThat(lifecycle.StaleWeakAccept),
			Why:  "A worker claimed it over a minute ago, and nothing shows that the runtime started.",
			Next: "Look at the agent's runtime.",
		}, {
			ID: RuleExpiring, Severity: Info, Title: "Expiring without a heartbeat", find: leasesThat(lifecycle.StaleExpiring),
			Why:  "Under a fifth of the wait is left and no heartbeat came.",
			Next: "Nothing to do yet. If it happens often, the worker should send heartbeats sooner.",
		}, {
			ID: RuleUnknown, Severity: Warning, Title: "Unknown outcome", find: findUnknown,
			Why:  "Nothing proves how they ended.",
			Next: "Check whether the work was done before you run it again.",
		}, {
			ID: RulePartDown, Severity: Critical, For: 30 * time.Second, Title: "A part of Fleetglass is down", Vision: true, find: findPartDown,
			Why:  "Pages show the last known state; deadlines keep counting.",
			Next: "Open /readyz: it says what is wrong.",
		}, {
			ID: RuleFeedSilent, Severity: Critical, Title: "Our own feed is silent", Vision: true, find: findFeedSilent,
			Threshold: 2 * time.Minute, Means: "how long every collector may be silent",
			Why:  "No collector took anything in or could verify that nothing waits: what happens now is not seen.",
			Next: "Check whether the broker is reachable, and restart Fleetglass if it is.",
		}, {
			ID: RuleCollectorLag, Severity: Warning, For: time.Minute, Title: "A collector is behind", Vision: true, find: findCollectorLag,
			Why:  "What is stale or presumed dead may show late.",
			Next: "Open the page Capture: it says how far behind. If the store is slow, look at the store first.",
		}, {
			ID: RuleCaptureGap, Severity: Warning, Title: "Capture gap", Vision: true, find: findCaptureGap,
			Threshold: time.Hour, Means: "how long after its end an open gap is shown",
			Why:  "Counts in this span are lower bounds.",
			Next: "Look at the gap: it names its source and its reason.",
		}, {
			ID: RuleUnjudged, Severity: Warning, Title: "Tasks cannot be judged", Vision: true, find: findUnjudged,
			Why:  "It is not known whether an answer ended such a task.",
			Next: "Name the workers' consumers with --worker-consumers.",
		},
	}
}
