package brokersync

import (
	"time"

	"fleetglass/lifecycle"
)

// Look is what the broker said about one stream in one poll.
type Look struct {
	Stream      lifecycle.StreamID // The incarnation that lives now.
	ConsumersAt lifecycle.Micros   // When the consumers were listed.
	At          lifecycle.Micros   // When the stream was asked, not before ConsumersAt.
	Msgs        uint64
	FirstSeq    uint64
	LastSeq     uint64
	Limits      Limits
	Full        bool // The stream holds as many messages or bytes as its limits allow.
	Consumers   []Consumer
	Gone        []lifecycle.ConsumerState // Consumers that were there before.
	Present     Presence

	// Drained is the time up to which every captured acknowledgement and advisory has been stored; zero when not known.
	Drained lifecycle.Micros
	// Verifiable is the sequence up to which every captured publish has been stored; zero when not known.
	Verifiable uint64
	// Crowded are the subjects of which the stream holds as many messages as it may; asked only for subjects of missing messages.
	Crowded map[string]bool
	// Blind says which capture streams do not exist, so that nothing follows from a missing line.
	Blind string
}

// Limits are the limits of the stream that make messages leave it unanswered. Zero means none.
type Limits struct {
	MaxAge        time.Duration
	MaxPerSubject int64
}

// Consumer is the state of a durable consumer and what only the reconciler needs of it.
type Consumer struct {
	lifecycle.ConsumerState
	AckedAt lifecycle.Micros // The broker's time of the last acknowledgement that it processed; zero for none since it started.
}

// quietSince is the latest activity of the consumer.
func (c Consumer) quietSince() lifecycle.Micros { return max(c.DeliveredAt, c.AckedAt, c.CreatedAt) }

// consumerOf is the consumer that a message is delivered by: the one whose filters match its subject, else the one that is named by
// its lines. Filters of a work queue do not overlap.
func (l Look) consumerOf(m lifecycle.MessageFacts) *Consumer {
	for i := range l.Consumers {
		c := &l.Consumers[i]
		if m.Stored != nil && m.Stored.Subject != "" {
			if matchesAny(c.Filters, m.Stored.Subject) {
				return c
			}
		} else if c.Name == m.Consumer {
			return c
		}
	}
	return nil
}
