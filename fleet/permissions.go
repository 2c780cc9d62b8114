package fleet

// Identity is what one part of Fleetglass may do on the broker, and nothing else.
type Identity struct {
	Name      string   // "observer", "mover", "retry" or "provision".
	Purpose   string   // One sentence.
	Publish   []string // Subjects it may publish to.
	Subscribe []string // Subjects it may subscribe to.
}

// InboxPrefix is where Fleetglass receives replies, so that it needs no right to read the inboxes of agents.
const InboxPrefix = "_INBOX_obs"

// Permissions is the least privilege of each identity. Mover and retry come on top of the observer.
func (s Streams) Permissions() []Identity {
	c := s.Contract
	probe := rawPrefix + "." + probeAgent + ".probe"
	return []Identity{
		{
			Name: "observer", Purpose: "Reads captures and broker state, and listens to publishes where no capture is fed. It cannot change the fleet.",
			Publish: s.observerPublishes(), Subscribe: []string{InboxPrefix + ".>", probe, c.TaskSubjects()},
		},
		{
			Name: "mover", Purpose: "Moves dead messages from TASKS to the DLQ.",
			Publish: []string{c.Prefix + ".dlq.>", c.api("STREAM.MSG.DELETE." + StreamTasks)},
		},
		{
			Name: "retry", Purpose: "Sends retries, at once or when they are due.",
			Publish: append([]string{c.Prefix + ".retry.>", c.TaskSubjects()}, c.reading(StreamRetry)...),
		},
		{
			Name: "provision", Purpose: "Creates and updates streams. Powerful: use it for provisioning only, not to run.",
			Publish:   []string{c.api(">"), c.TaskSubject(probeAgent, "probe")},
			Subscribe: []string{InboxPrefix + ".>", probe},
		},
	}
}

func (s Streams) observerPublishes() []string {
	c := s.Contract
	subjects := []string{c.TaskSubject(probeAgent, "probe")}
	for _, request := range []string{
		"INFO", "STREAM.INFO.*", "STREAM.NAMES", "STREAM.LIST", "CONSUMER.INFO.*.*", "CONSUMER.LIST.*", "CONSUMER.NAMES.*",
		"DIRECT.GET." + StreamTasks, "DIRECT.GET." + StreamTasks + ".>", "STREAM.MSG.GET." + StreamTasks,
		"STREAM.MSG.GET." + CapturePub, "STREAM.MSG.GET." + CaptureRaw,
		"DIRECT.GET." + StreamDLQ, "STREAM.MSG.GET." + StreamDLQ, "DIRECT.GET." + recordsStream + ".>",
	} {
		subjects = append(subjects, c.api(request))
	}
	for _, cfg := range s.captures() {
		if cfg.Name != CaptureNone {
			subjects = append(subjects, c.reading(cfg.Name)...)
		}
	}
	return append(subjects, append(c.reading(StreamDLQ), c.reading(recordsStream)...)...)
}

// api is the subject of a request to JetStream, in the contract's domain.
func (c Contract) api(request string) string {
	if c.Domain != "" {
		return "$JS." + c.Domain + ".API." + request
	}
	return "$JS.API." + request
}

// reading is what a durable pull consumer on a stream needs. Acknowledgements have two forms (NATS.md, "Acknowledgements").
func (c Contract) reading(stream string) []string {
	return []string{
		c.api("CONSUMER.CREATE." + stream + ".>"), c.api("CONSUMER.MSG.NEXT." + stream + ".*"), "$JS.ACK." + stream + ".>", "$JS.ACK.*.*." + stream + ".>",
	}
}
