package lifecycle

import "strings"

// RouteLabel is the label of [MetricGiven]: the type of a message, and who published it. [Route] reads it.
func RouteLabel(typ, publisher string) string {
	return typ + "|" + PublisherName(publisher)
}

// PublisherName is the name under which a publisher is counted and found. It has no "|", which parts names in labels.
func PublisherName(publisher string) string { return strings.ReplaceAll(publisher, "|", "/") }

// Given is who published the message, by its own word as [PublisherName] writes it, and when it was stored. Both are empty where the message does not say who.
func (m *MessageFacts) Given() (publisher string, at Micros) {
	if m.Stored == nil || m.Stored.Publisher == "" {
		return "", 0
	}
	return PublisherName(m.Stored.Publisher), m.Stored.At
}

// Route reads a [RouteLabel]. The publisher is empty where the message does not say it.
func Route(label string) (typ, publisher string) {
	i := strings.LastIndexByte(label, '|')
	return label[:max(i, 0)], label[i+1:]
}

// countRoute adds which way a stored message came.
func (t Tally) countRoute(s *StoredFacts, agent string, times int64) {
	label := RouteLabel(s.Type, s.Publisher)
	t.count(MetricGivenMin, s.At, agent, label, times)
	if s.Publisher != "" {
		t.count(MetricGiven, s.At, agent, label, times)
	}
}
