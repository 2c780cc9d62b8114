package lifecycle

import "time"

// Detail is what only some kinds of events carry, in parts by what they speak of. The comments name the kinds. Fields that a kind does
// not carry are zero. In JSON durations are nanoseconds and instants microseconds.
type Detail struct {
	Naming         // Which message and task the line names.
	Publication    // What its publisher said of the message.
	Ending         // How an attempt or a message ended.
	Timing         // What the line itself says about time.
	DeadLetter     // Which dead-letter entry it is.
	LeaseReport    // Which lease the agent says it holds.
	StepReport     // Which step of its work the agent speaks of.
	OutcomeReport  // What came of the work.
	ModelUse       // Which language model was used for it.
	Triage         // What somebody decided about a dead message.
	Classification // Why a message died, by the rules or by a person.
	Standing       // What the broker's state says of the effect of an answer.
}

// Naming is how a line names the message that it speaks of.
type Naming struct {
	MsgID          string `json:"msg_id,omitempty"`          // Nats-Msg-Id: published, publish_attempted, reports.
	Subject        string `json:"subject,omitempty"`         // published, publish_attempted. Of the message that died: dead_lettered.
	Type           string `json:"type,omitempty"`            // Task type: published, publish_attempted.
	IdempotencyKey string `json:"idempotency_key,omitempty"` // published, records, reports, key_shared.
	RecordSeq      uint64 `json:"record_seq,omitempty"`      // The stream sequence that an idempotency record names: completion_recorded.
	PayloadHash    string `json:"payload_hash,omitempty"`    // Fingerprint of the body, hex: published, publish_attempted, records.
	Owner          string `json:"owner,omitempty"`           // The other task whose message has the message id: publish_swallowed; or the idempotency key: key_shared.
}

// Publication is what the publisher of a message said of it.
type Publication struct {
	Generation   int           `json:"generation,omitempty"`    // 0 for the first message of a task: published.
	RetryOf      string        `json:"retry_of,omitempty"`      // <stream>:<seq>: published.
	TriageAction string        `json:"triage_action,omitempty"` // published.
	TraceParent  string        `json:"traceparent,omitempty"`   // published.
	Publisher    string        `json:"publisher,omitempty"`     // Who published it, as the message says: published. Untrusted.
	Title        string        `json:"title,omitempty"`         // A short human name found in the payload: published. Untrusted.
	Size         int64         `json:"size,omitempty"`          // Body bytes: published.
	TTL          time.Duration `json:"ttl,omitempty"`           // Nats-TTL: the stream removes the message so long after it was stored, or [NeverExpires]: published.
	Window       time.Duration `json:"window,omitempty"`        // The stream's duplicate window at that time: published, publish_swallowed.
	Schedule     string        `json:"schedule,omitempty"`      // When the broker publishes it to its target; empty for what is no schedule: published.
	Target       string        `json:"target,omitempty"`        // The subject that a schedule is published to: published.
	BestEffort   bool          `json:"best_effort,omitempty"`   // Captured by a subscription that is blind while Fleetglass is down: publish_attempted.
}

// Ending is how an attempt or a message ended.
type Ending struct {
	Delay       time.Duration `json:"delay,omitempty"`       // The delay that a nak asked for: naked.
	Reason      string        `json:"reason,omitempty"`      // terminated, vanished, presumed_dead, failed, … Untrusted where a worker gave it.
	Removal     Removal       `json:"removal,omitempty"`     // What took the message out of the stream: vanished.
	Undelivered bool          `json:"undelivered,omitempty"` // The sequence that its consumer delivered last proves that no worker had the message: vanished; or that none of it had: an answer.
	AckTime     time.Duration `json:"ack_time,omitempty"`    // From the last delivery or heartbeat to the acknowledgement: ack_confirmed.
}

// Standing is how an answer stands by what the broker said of its consumer when the line was read: acked, naked, terminated, heartbeat.
type Standing struct {
	Unproved bool     `json:"unproved,omitempty"` // The consumer had not delivered the message, or is not the one that existed then.
	Watches  bool     `json:"watches,omitempty"`  // Of a consumer that only watches: it takes the same messages, and is not the workers'. Advisories carry it too.
	Apart    bool     `json:"apart,omitempty"`    // Of one of the workers' consumers of a stream that keeps its messages, each of which gets every message. Advisories and what is concluded carry it too.
	Own      bool     `json:"own,omitempty"`      // Of a consumer that takes the tasks of its agent alone: to a message for another agent it says nothing.
	Former   bool     `json:"former,omitempty"`   // To a delivery that the living consumer of that name did not make: one that lived before did. Confirmations of it carry it too.
	Beside   []string `json:"beside,omitempty"`   // Other workers' consumers that may take the message too and had not answered it, sorted: acked, terminated, max_deliveries, presumed_dead, adopted.
	SaidAt   Micros   `json:"said_at,omitempty"`  // When the message was stored, as an unproved line or one that would end it says: who was never given the message cannot know it.
}

// Timing is what the line itself says about time.
type Timing struct {
	CreatedAt Micros `json:"created_at,omitempty"` // By the publisher's clock: published. By the agent's clock: completion_recorded, effect_logged.
	Basis     Micros `json:"basis,omitempty"`      // The last signal that the deadline counts from: lease_expired, presumed_dead.
	Deadline  Micros `json:"deadline,omitempty"`   // lease_expired, presumed_dead.
	Judged    Micros `json:"judged,omitempty"`     // When the conclusion was drawn, by the broker's clock: lease_expired, presumed_dead.
	AtLatest  bool   `json:"at_latest,omitempty"`  // The lease may have run out before the deadline: lease_expired, presumed_dead.
	Exact     bool   `json:"exact,omitempty"`      // The event's time is the broker's own time of that delivery, not the time of the poll: delivered.
}

// DeadLetter names a dead-letter entry: dead_lettered.
type DeadLetter struct {
	Category       string `json:"category,omitempty"`        // By the classification of the entry's writer: dead_lettered. By that of the rules or of a person: classified.
	Path           string `json:"path,omitempty"`            // How the message came there.
	Entry          string `json:"entry,omitempty"`           // Where the entry is: <stream>:<seq>.
	CategoryDetail string `json:"category_detail,omitempty"` // Within the category, such as llm_provider_timeout: dead_lettered, classified.
	Deliveries     int    `json:"deliveries,omitempty"`      // How often the message was delivered, as the entry says.
	FailedAt       Micros `json:"failed_at,omitempty"`       // When it died, as the entry says.
	OfTask         string `json:"of_task,omitempty"`         // The task that the entry names, whichever task the message has: dead_lettered.
}

// Classification says why a message died: classified. Its category and detail stand in [DeadLetter], who classified and the revision in
// [Triage]. The revision is zero where the rules speak, so that a person's word counts more.
type Classification struct {
	CauseKind string     `json:"cause_kind,omitempty"` // What kind of cause it is: transient, resource, logic or authority.
	Rule      string     `json:"rule,omitempty"`       // The rule that matched; empty where a person classified.
	Evidence  []Evidence `json:"evidence,omitempty"`   // What the rule rests on.
}

// Evidence is a text that a classification rests on, and where it stands, such as the header X-DLQ-Reason or the reason of a +TERM. The text
// is untrusted.
type Evidence struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

// LeaseReport is the lease that an agent says it holds: reports.
type LeaseReport struct {
	LeaseOwner     string `json:"lease_owner,omitempty"`
	LeaseVersion   uint64 `json:"lease_version,omitempty"` // The fencing token.
	LeaseExpiresAt Micros `json:"lease_expires_at,omitempty"`
}

// StepReport is the step that an agent speaks of: reports, effect_logged.
type StepReport struct {
	StepID    string `json:"step_id,omitempty"`
	StepClass string `json:"step_class,omitempty"`
	Tool      string `json:"tool,omitempty"`
	InputHash string `json:"input_hash,omitempty"` // Canonical hash of the input: of the step in reports of steps, else of the message.
}

// OutcomeReport is what came of the work, and who says so: reports, records.
type OutcomeReport struct {
	ResultRef   string        `json:"result_ref,omitempty"`
	Status      string        `json:"status,omitempty"`
	ExpiresAt   Micros        `json:"expires_at,omitempty"`   // When the record's retention ends: completion_recorded.
	ReportedBy  string        `json:"reported_by,omitempty"`  // Who sent the report, where nothing proves that to be the agent; empty where it is proved.
	HeardAt     Micros        `json:"heard_at,omitempty"`     // When the report came, by the clock of whoever took it in: completed.
	RecordsWait time.Duration `json:"records_wait,omitempty"` // How long the delivery waited for the idempotency records: completed, duplicate_caught.
}

// ModelUse is how much of which language model an agent says it used: reports.
type ModelUse struct {
	Model        string  `json:"model,omitempty"`
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"`
}
