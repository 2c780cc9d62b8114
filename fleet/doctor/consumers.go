package doctor

import "fmt"

// serverConsumers is how many consumers nats-server allows a stream where nobody says, from 2.15 on.
const serverConsumers = 1000

// defaultConsumers is how many consumers a stream may have where nobody says: without a limit before nats-server 2.15, and where the version is not
// known nobody can say that there is one.
func (c Cluster) defaultConsumers() int {
	var major, minor int
	if n, _ := fmt.Sscanf(c.Version, "%d.%d", &major, &minor); n == 2 && (major > 2 || major == 2 && minor >= 15) {
		return serverConsumers
	}
	return -1
}

// consumersNear is the share of its limit of consumers from which the doctor speaks of a stream.
const consumersNear = 0.9

// consumerLimitChecks are the traps of streams that shall have more consumers than the broker allows.
func consumerLimitChecks() []check {
	return []check{
		{
			code: "consumers_full", severity: Critical, find: fullOfConsumers,
			title: "A stream takes no more consumers",
			why:   "The broker refuses the next consumer: the agent that asks for it gets no task.",
		},
		{
			code: "consumers_nearly_full", severity: Warning, find: nearlyFullOfConsumers,
			title: "A stream is near its limit of consumers",
			why:   "At the limit the broker refuses the next consumer: the agent that asks for it gets no task.",
		},
	}
}

func fullOfConsumers(l look) []trap {
	return l.eachLimit(func(consumers, limit int) bool { return consumers >= limit })
}

func nearlyFullOfConsumers(l look) []trap {
	return l.eachLimit(func(consumers, limit int) bool {
		return consumers < limit && float64(consumers) >= consumersNear*float64(limit)
	})
}

// eachLimit finds the streams of tasks whose consumers are a trap under their limit.
func (l look) eachLimit(trapped func(consumers, limit int) bool) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		limit, says, fix := l.consumerLimit(s)
		if n := len(s.Consumers); limit > 0 && trapped(n, limit) {
			return fmt.Sprintf("It has %s consumers. %s", grouped(n), says), fix
		}
		return "", ""
	})
}

// consumerLimit is how many consumers a stream may have, who says so, and how to raise it. Stream and account tell theirs; the server's own limit is
// told to nobody, and is not the default where the stream has more: zero then, as where there is no limit.
func (l look) consumerLimit(s Stream) (limit int, says, fix string) {
	own, account, server := s.Config.MaxConsumers, l.MaxConsumers, l.Consumers
	switch {
	case own > 0 && account <= 0:
		return own, fmt.Sprintf("Its max_consumers is %s.", grouped(own)), raise(s, 10*own)
	case own > 0 && own < account:
		return own, fmt.Sprintf("Its max_consumers is %s, and its account allows %s.", grouped(own), grouped(account)), raise(s, min(10*own, account))
	case account > 0:
		return account, fmt.Sprintf("Its account allows a stream %s.", grouped(account)), fmt.Sprintf("In the account's limits: jetstream { max_consumers: %d }", 10*account)
	case server <= 0 || len(s.Consumers) > server:
		return 0, "", ""
	}
	return server, fmt.Sprintf("Neither stream nor account has a limit: nats-server 2.15 allows %s then, unless its default_max_consumers says otherwise.", grouped(server)),
		raise(s, 10*server)
}

// raise is the command that gives a stream a limit of its own, which counts before that of the server.
func raise(s Stream, consumers int) string {
	return editStream(s, fmt.Sprintf("--max-consumers %d", consumers))
}
