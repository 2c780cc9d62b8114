package lifecycle

import "strings"

// RouteLabel is the label of [MetricGiven]: the type of a message, and who published it. [Route] reads it.
func RouteLabel(typ, publisher string) string {
	return typ + "|" + strings.ReplaceAll(publisher, "|", "/")
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
