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
	return []Identity{
		{
			Name: "observer", Purpose: "Reads captures and broker state. It cannot change the fleet.",
			Publish: s.observerPublishes(), Subscribe: []string{InboxPrefix + ".>", rawPrefix + "." + probeAgent + ".probe"},
		},
		{
			Name: "mover", Purpose: "Moves dead messages from TASKS to the DLQ.",
			Publish: []string{c.Prefix + ".dlq.>", "$JS.API.STREAM.MSG.DELETE." + StreamTasks},
		},
		{
			Name: "retry", Purpose: "Sends retries, at once or when they are due.",
			Publish: []string{
				c.Prefix + ".retry.>", c.TaskSubjects(),
				"$JS.API.CONSUMER.CREATE." + StreamRetry + ".>", "$JS.API.CONSUMER.MSG.NEXT." + StreamRetry + ".*", "$JS.ACK." + StreamRetry + ".>",
			},
		},
		{
			Name: "provision", Purpose: "Creates and updates streams. Powerful: use it for provisioning only, not to run.",
			Publish:   []string{"$JS.API.>", c.TaskSubject(probeAgent, "probe")},
			Subscribe: []string{InboxPrefix + ".>", rawPrefix + "." + probeAgent + ".probe"},
		},
	}
}

func (s Streams) observerPublishes() []string {
	api := "$JS.API."
	subjects := []string{
		api + "INFO", api + "STREAM.INFO.*", api + "STREAM.NAMES", api + "STREAM.LIST",
		api + "CONSUMER.INFO.*.*", api + "CONSUMER.LIST.*", api + "CONSUMER.NAMES.*",
		api + "DIRECT.GET." + StreamTasks, api + "DIRECT.GET." + StreamTasks + ".>", api + "STREAM.MSG.GET." + StreamTasks,
		s.Contract.TaskSubject(probeAgent, "probe"),
	}
	for _, cfg := range s.captures() {
		if cfg.Name != CaptureNone {
			subjects = append(subjects, readingOf(cfg.Name)...)
		}
	}
	subjects = append(subjects, readingOf(StreamDLQ)...)
	return append(subjects, api+"DIRECT.GET."+StreamDLQ, api+"STREAM.MSG.GET."+StreamDLQ, api+"DIRECT.GET."+recordsStream+".>",
		"$JS.API.CONSUMER.CREATE."+recordsStream+".>", "$JS.API.CONSUMER.DELETE."+recordsStream+".*")
}

// readingOf is what a durable pull consumer on a stream needs.
func readingOf(stream string) []string {
	return []string{"$JS.API.CONSUMER.CREATE." + stream + ".>", "$JS.API.CONSUMER.MSG.NEXT." + stream + ".*", "$JS.ACK." + stream + ".>"}
}
