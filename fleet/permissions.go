package fleet

import (
	"cmp"
	"slices"
)

// Identity is what one part of Fleetglass, or an agent, may do on the broker, and nothing else. Both lists are complete: an identity without
// a list would be allowed everything.
type Identity struct {
	Name      string   // "observer", "mover", "retry", "release", "agent" or "operator".
	User      string   // The name of its user on the broker, such as "fleetglass-observer" or "cto".
	Purpose   string   // One sentence.
	Publish   []string // Subjects it may publish to.
	Subscribe []string // Subjects it may subscribe to.
}

// InboxPrefix is where Fleetglass receives replies, so that it needs no right to read the inboxes of agents.
const InboxPrefix = "_INBOX_obs"

// agentInbox is where an agent receives replies, so that it cannot read those of others.
func agentInbox(agent string) string { return "_INBOX_" + agent }

// templateAgent stands for the name of an agent.
const templateAgent = "AGENT"

// The identities whose users are of their own.
const (
	identityAgent    = "agent"
	identityOperator = "operator"
)

// Permissions is the least privilege of each identity; the agent is a template, for an agent called AGENT. The durables and the probe are the
// operator's: see [Reader]. One Fleetglass among several that does not decide has no identity to change the fleet with.
func (s Streams) Permissions() []Identity {
	c := s.Contract
	inbox := InboxPrefix + ".>"
	all := []Identity{
		{
			Name: "observer", Purpose: "Reads captures and broker state, and listens to publishes where no capture is fed. It cannot change the fleet.",
			Publish: s.observerPublishes(), Subscribe: []string{inbox, c.TaskSubjects(), s.ChangesSubject()},
		},
		{
			Name: "mover", Purpose: "Moves dead messages, and those in flight that somebody quarantines, from the streams of tasks to the DLQ.",
			Publish:   slices.Concat([]string{c.DLQSubjects(), c.api("INFO"), c.api("STREAM.NAMES")}, s.perStream(c.moving), s.looksAtQueues()),
			Subscribe: []string{inbox},
		},
		{
			Name: "retry", Purpose: "Parks retries until they are due, and sends them.",
			Publish: append([]string{
				c.Prefix + ".retry.>", c.TaskSubjects(), c.api("INFO"), c.api("STREAM.INFO." + StreamRetry), c.api("STREAM.MSG.DELETE." + StreamRetry),
			}, c.reading(RetryReader())...),
			Subscribe: []string{inbox},
		},
		{
			Name: "release", Purpose: "Hands messages in flight back where somebody decided so: it answers in the place of any worker, so it could also acknowledge.",
			Publish:   slices.Concat([]string{c.api("INFO"), c.api("STREAM.INFO." + CaptureAck), c.api("STREAM.MSG.GET." + CaptureAck)}, s.perStream(c.releasing)),
			Subscribe: []string{inbox},
		},
		s.AgentPermissions(templateAgent),
		{
			Name: identityOperator, Purpose: "Creates and updates streams, durables and workers' consumers. Powerful: use it for provisioning only, not to run. Other clients of this user, such as nats, connect with the inbox prefix " + InboxPrefix + ".",
			Publish:   []string{c.api(">"), c.TaskSubject(probeAgent, "probe")},
			Subscribe: []string{inbox, rawPrefix + "." + probeAgent + ".probe"},
		},
	}
	for i := range all {
		switch id := &all[i]; id.Name {
		case identityAgent:
		case identityOperator:
			id.User = ReaderPrefix + "-" + id.Name // One operator provisions for every Fleetglass of the fleet.
		default:
			id.User = s.user() + "-" + id.Name
		}
	}
	if s.decides() {
		return all
	}
	return slices.DeleteFunc(all, func(id Identity) bool { return slices.Contains([]string{"mover", "retry", "release"}, id.Name) })
}

// ChangesSubject is where the replicas of one Fleetglass tell each other what changed in the store that they share.
func (s Streams) ChangesSubject() string { return s.user() + "." + s.Contract.Prefix + ".changes" }

// user is the name of the user that one Fleetglass runs with: several of one fleet live on one broker.
func (s Streams) user() string { return cmp.Or(s.By, ReaderPrefix) }

// AgentPermissions is what an agent needs: it sends tasks to others, works through its own consumer, keeps records and reports about
// its own work. It can send nothing that only the broker sends: no captured line, no advisory, no acknowledgement of another's work. Its
// connection has the inbox prefix _INBOX_<agent>; the operator makes its consumer.
func (s Streams) AgentPermissions(agent string) Identity {
	c := s.Contract
	worker := WorkerName(agent)
	return Identity{
		Name: identityAgent, User: agent, Purpose: "An agent, here called " + agent + ": it sends tasks, works through its own consumer, keeps records and reports. Its connection has the inbox prefix " + agentInbox(agent) + ".",
		Publish: append([]string{
			c.TaskSubjects(), c.Prefix + ".lifecycle." + agent + ".>", "$KV." + BucketIdempotency + ".>", c.api("INFO"),
			c.api("STREAM.INFO." + recordsStream), c.api("DIRECT.GET." + recordsStream + ".>"), c.api("STREAM.MSG.GET." + recordsStream),
		}, s.perStream(func(stream string) []string { return c.working(stream, worker) })...),
		Subscribe: []string{agentInbox(agent) + ".>"},
	}
}

// moving is what it takes to move a message out of a stream of tasks.
func (c Contract) moving(stream string) []string {
	return []string{c.api("STREAM.INFO." + stream), c.api("STREAM.MSG.GET." + stream), c.api("STREAM.MSG.DELETE." + stream)}
}

// releasing is what it takes to hand a message of a stream of tasks back in the place of its worker.
func (c Contract) releasing(stream string) []string {
	return []string{
		ackSubjects(stream)[0], c.api("STREAM.INFO." + stream), c.api("STREAM.MSG.GET." + stream), c.api("CONSUMER.INFO." + stream + ".*"),
	}
}

// working is what a worker needs of a stream of tasks: its own consumer.
func (c Contract) working(stream, worker string) []string {
	return []string{
		c.api("STREAM.INFO." + stream), c.api("CONSUMER.INFO." + stream + "." + worker), c.api("CONSUMER.MSG.NEXT." + stream + "." + worker),
		"$JS.ACK." + stream + "." + worker + ".>", "$JS.ACK.*.*." + stream + "." + worker + ".>",
	}
}

// looksAtQueues is what it takes to see how far the streams of dead letters were read.
func (s Streams) looksAtQueues() []string {
	var subjects []string
	for _, r := range s.deadLetters() {
		subjects = append(subjects, s.Contract.api("STREAM.INFO."+r.Stream), s.Contract.api("CONSUMER.INFO."+r.Stream+"."+r.Durable()))
	}
	return subjects
}

func (s Streams) observerPublishes() []string {
	c := s.Contract
	subjects := []string{s.ChangesSubject()}
	for _, request := range []string{
		"INFO", "STREAM.NAMES", "STREAM.LIST", "STREAM.INFO." + StreamRetry, "CONSUMER.LIST." + StreamRetry,
		"STREAM.MSG.GET." + CapturePub, "STREAM.MSG.GET." + CaptureRaw, "STREAM.MSG.GET." + CaptureEvt,
		"DIRECT.GET." + recordsStream + ".>", "STREAM.MSG.GET." + recordsStream,
	} {
		subjects = append(subjects, c.api(request))
	}
	for _, request := range s.perStream(observing) {
		subjects = append(subjects, c.api(request))
	}
	for _, r := range s.deadLetters() {
		subjects = append(subjects, c.api("STREAM.MSG.GET."+r.Stream))
	}
	for _, name := range s.emptied {
		subjects = append(subjects, c.api("STREAM.INFO."+name))
	}
	for _, r := range s.readers() {
		if r.Shard.Index == 0 {
			subjects = append(subjects, c.api("STREAM.INFO."+r.Stream))
		}
		subjects = append(subjects, c.reading(r)...)
	}
	return subjects
}

// observing are the requests that observe a stream of tasks.
func observing(stream string) []string {
	return []string{
		"STREAM.INFO." + stream, "CONSUMER.INFO." + stream + ".*", "CONSUMER.LIST." + stream, "CONSUMER.NAMES." + stream,
		"STREAM.MSG.GET." + stream,
	}
}

// api is the subject of a request to JetStream, in the contract's domain.
func (c Contract) api(request string) string {
	if c.Domain != "" {
		return "$JS." + c.Domain + ".API." + request
	}
	return "$JS.API." + request
}

// reading is what reading through a durable needs that exists. Acknowledgements have two forms (NATS.md, "Acknowledgements").
func (c Contract) reading(r Reader) []string {
	name := r.Stream + "." + r.Durable()
	return []string{
		c.api("CONSUMER.INFO." + name), c.api("CONSUMER.MSG.NEXT." + name), "$JS.ACK." + name + ".>", "$JS.ACK.*.*." + name + ".>",
	}
}
