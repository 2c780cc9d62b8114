package client

import "time"

// Page is one page of a list.
type Page[T any] struct {
	Data []T `json:"data"`
	Page struct {
		Next *string `json:"next"` // Cursor of the following page; nil at the end.
	} `json:"page"`
	AsOf time.Time `json:"as_of"`
	Gaps []Gap     `json:"gaps"` // Spans of which lines may have been missed.
}

// Gap is a span of which lines may have been missed.
type Gap struct {
	Source string     `json:"source"`
	From   time.Time  `json:"from"`
	To     *time.Time `json:"to"` // Nil while it is open.
}

// Task is a task in a list.
type Task struct {
	TaskID      string     `json:"task_id"`
	State       string     `json:"state"`
	Agent       *string    `json:"agent"`
	Type        *string    `json:"type"`
	Title       *string    `json:"title"`
	Attempt     *int       `json:"attempt"`
	MaxDeliver  *int       `json:"max_deliver"`
	Reason      *string    `json:"reason"`
	PublishedAt *time.Time `json:"published_at"`
	LastEventAt *time.Time `json:"last_event_at"`
	RunningMS   int64      `json:"running_ms"`
}

// Trace is what became of one task.
type Trace struct {
	TaskID      string     `json:"task_id"`
	State       string     `json:"state"`
	Agent       *string    `json:"agent"`
	Type        *string    `json:"type"`
	Title       *string    `json:"title"`
	Reason      *string    `json:"reason"`
	Attempts    int        `json:"attempts"`
	MaxDeliver  *int       `json:"max_deliver"`
	PublishedAt *time.Time `json:"published_at"`
	CompletedAt *time.Time `json:"completed_at"`
	WaitingMS   int64      `json:"waiting_ms"`
	RunningMS   int64      `json:"running_ms"`
	Answers     struct {
		Ownership   Answer `json:"ownership"`
		LastReceipt Answer `json:"last_receipt"`
		Recovery    Answer `json:"recovery"`
	} `json:"answers"`
	Anomalies []struct {
		Code    string `json:"code"`
		Meaning string `json:"meaning"`
	} `json:"anomalies"`
}

// Event is one observation about a task.
type Event struct {
	ID         string    `json:"id"`
	At         time.Time `json:"at"`
	Kind       string    `json:"kind"`
	Provenance string    `json:"provenance"` // How it is known: observed, broker, recorded, reported or inferred.
	Stream     *string   `json:"stream"`
	Seq        *string   `json:"seq"` // Nil for what is about the task itself.
	Attempt    *int      `json:"attempt"`
	Consumer   *string   `json:"consumer"`
	Agent      *string   `json:"agent"`
	Summary    string    `json:"summary"` // One or two sentences, without text of the fleet.
}

// Answer is one of the three answers about a task.
type Answer struct {
	Headline   string     `json:"headline"`
	Text       string     `json:"text"`
	At         *time.Time `json:"at"`
	Provenance string     `json:"provenance"`
}

// Lease is a message in a worker's hands.
type Lease struct {
	TaskID         string     `json:"task_id"`
	Stream         string     `json:"stream"`
	Seq            string     `json:"seq"`
	Agent          *string    `json:"agent"`
	Attempt        *int       `json:"attempt"`
	MaxDeliver     *int       `json:"max_deliver"`
	HeldMS         *int64     `json:"held_ms"`
	DeadlineAt     *time.Time `json:"deadline_at"`
	StaleKind      *string    `json:"stale_kind"`
	Recommendation *struct {
		Decision string   `json:"decision"`
		Rule     string   `json:"rule"`
		Reasons  []string `json:"reasons"`
	} `json:"recommendation"`
}

// Leases is a list of messages that workers hold.
type Leases struct {
	Page[Lease]
	AnswersReadAt *time.Time `json:"answers_read_at"` // Up to when workers' answers were read; nil while none was.
}

// DeadLetter is an entry of the dead-letter queue.
type DeadLetter struct {
	ID         string    `json:"id"`
	Revision   string    `json:"revision"`
	TaskID     string    `json:"task_id"`
	Agent      *string   `json:"agent"`
	Path       string    `json:"path"` // How it came there, such as "max_deliveries".
	Category   string    `json:"category"`
	Detail     *string   `json:"detail"`
	Reason     *string   `json:"reason"`
	Deliveries int       `json:"deliveries"`
	FailedAt   time.Time `json:"failed_at"`
	Status     string    `json:"status"`
	Outcome    *string   `json:"outcome"`
	Plan       struct {
		Strategy string `json:"strategy"`
		Eligible bool   `json:"eligible"`
	} `json:"plan"`
}

// Operation is what an action does, and how far it is.
type Operation struct {
	ID     string `json:"id"`
	Action string `json:"action"`
	Actor  string `json:"actor"`
	Reason string `json:"reason"`
	Status string `json:"status"`

	CreatedAt time.Time `json:"created_at"`

	Counts struct {
		Selected int64 `json:"selected"`
		Eligible int64 `json:"eligible"`
		Blocked  int64 `json:"blocked"`
		Done     int64 `json:"done"`
		Failed   int64 `json:"failed"`
	} `json:"counts"`
	Counting bool `json:"counting"` // Entries may have been acted on that Counts does not have yet.

	Items []struct {
		EntryID string     `json:"entry_id"`
		Status  string     `json:"status"`
		Why     *string    `json:"why"`
		Outcome *string    `json:"outcome"`
		DueAt   *time.Time `json:"due_at"`
	} `json:"items"`
}

// Ended reports whether nothing more will happen by itself.
func (o Operation) Ended() bool {
	return o.Status == "succeeded" || o.Status == "failed" || o.Status == "cancelled"
}

// Checkup is what the doctor found, the worst first.
type Checkup struct {
	Data      []Finding `json:"data"`
	AsOf      time.Time `json:"as_of"`
	Streams   int       `json:"streams"`
	Consumers int       `json:"consumers"`
}

// Finding is a trap in the configuration of the broker.
type Finding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
	Resource string `json:"resource"`
	What     string `json:"what"`
	Why      string `json:"why"`
	Fix      string `json:"fix"`
}

// Alert is something that wants attention.
type Alert struct {
	ID        string    `json:"id"`
	Rule      string    `json:"rule"`
	Severity  string    `json:"severity"`
	State     string    `json:"state"`
	Title     string    `json:"title"`
	What      string    `json:"what"`
	Next      string    `json:"next"`
	TaskID    *string   `json:"task_id"`
	StartedAt time.Time `json:"started_at"`
}
