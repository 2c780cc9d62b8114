package reconcile

type discrepancyText struct{ title, meaning, advice string }

var discrepancyTexts = map[DiscrepancyKind]discrepancyText{
	CompletedNotAcked: {
		"Completed, not acknowledged", "Completion is recorded and no acknowledgement was seen: the message may be delivered again.",
		"Nothing is lost. Make sure that the worker checks its record before it runs a task again; if it stays, look for a worker that dies after recording.",
	},
	AckedNotRecorded: {
		"Acknowledged, no completion", "A worker acknowledged the message and no completion is recorded: lost work, or a missing record.",
		"Check whether the task's effect exists. If not, publish the task again. A worker must record completion before it acknowledges.",
	},
	RecordedUnpublished: {
		"Recorded, never published", "A completion is recorded for a task of which no stored message is known.",
		"Find out who wrote the record: a task that was run outside the stream, a wrong task id, a message that was never seen, or one that retention deleted.",
	},
	RecordMissing: {
		"Record deleted", "The completion record was seen and is gone before its retention ended.",
		"Until the record is back a redelivery runs the task again. Find out who deletes records, and write this one again.",
	},
	OutcomeUnexplained: {
		"Outcome not known", "The message left the stream, never showed in it, or lies there with no consumer to deliver it, and nothing seen says what became of it.",
		"Check whether the task's effect exists before you publish it again. A gap in capture at that time is the usual cause.",
	},
	NeverSeen: {
		"Never seen", "The stream gave out the sequence number, and nothing was ever seen of the message.",
		"It was published while capture was blind. Ask its publisher, or look for a gap at that time.",
	},
	ExhaustedOutsideDLQ: {
		"Exhausted, not in the dead-letter queue", "The attempts are used up and no dead-letter entry exists: nobody will look at it by itself.",
		"Look at why it failed, then publish it again or record that it is given up. Make sure that something moves dead messages to the dead-letter queue.",
	},
	ExpiredInStream: {
		"Expired", "The message left the stream by its max_age before anybody was done with it.",
		"Publish it again if it still matters. Make sure that its workers run and keep up.",
	},
	HeldThoughSettled: {
		"Answered, still in the stream", "The stream holds the message although an answer that ends it was seen.",
		"The answer had no effect, so the message may be delivered again. Look for an acknowledgement that came too late.",
	},
	HeldUnknown: {
		"In the stream, not known", "The stream holds the message and the store has not heard of it.",
		"It is read in by itself within seconds. If it stays, look at the health of the collectors.",
	},
}
