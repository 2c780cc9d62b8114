package views

import (
	"strings"

	"fleetglass/lifecycle"
)

// QueryWords says in words what a term of a query asks for, such as "state is not completed" or "run time over 30 s". Dead letters have a time of
// death where tasks have a last event.
func QueryWords(t lifecycle.QueryTerm, deadLetters bool) string {
	value := Cut(t.Value, 48)
	switch t.Field {
	case "":
		return either(t.Not, "text without “", "text with “") + value + "”"
	case "has":
		return either(t.Not, "no publish caught as duplicate", "a publish caught as duplicate")
	case "published":
		return publishedWords(t)
	case "attempt":
		return "attempt " + compareWords(t, value)
	case "cost":
		return "cost in USD " + compareWords(t, value) + ", as reported"
	case "duration":
		return "run time " + compareWords(t, queryTime(t))
	case "from", "to":
		return timeWords(t, deadLetters)
	case "state":
		_, _, value = StateLook(lifecycle.State(t.Value))
	case "anomaly":
		value = AnomalyWord(lifecycle.AnomalyCode(t.Value))
	case "id":
		if prefix, ok := strings.CutSuffix(t.Value, "*"); ok && !deadLetters {
			return either(t.Not, "id does not begin with ", "id begins with ") + Cut(prefix, 48)
		}
	}
	return t.Field + either(t.Not, " is not ", " is ") + value
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// queryTime writes a span as pages do; anything else as it is.
func queryTime(t lifecycle.QueryTerm) string {
	if d, ok := lifecycle.ParseSpan(t.Value); ok {
		return lifecycle.Lasting(d)
	}
	return Cut(t.Value, 48)
}

var comparisons = map[string][2]string{
	"": {"is", "is not"}, ">": {"over", "not over"}, ">=": {"at least", "below"}, "<": {"below", "at least"}, "<=": {"at most", "over"},
}

func compareWords(t lifecycle.QueryTerm, value string) string {
	words := comparisons[t.Op]
	if t.Not {
		return words[1] + " " + value
	}
	return words[0] + " " + value
}

// publishedWords says whether an age or a time is compared.
func publishedWords(t lifecycle.QueryTerm) string {
	if _, isAge := lifecycle.ParseSpan(t.Value); isAge {
		words := map[string]string{">": "over ", ">=": "at least ", "<": "less than ", "<=": "at most "}[t.Op]
		return either(t.Not, "not ", "") + "published " + words + queryTime(t) + " ago"
	}
	words := map[string]string{">": "after ", ">=": "at or after ", "<": "before ", "<=": "at or before "}[t.Op]
	return either(t.Not, "not ", "") + "published " + words + Cut(t.Value, 32)
}

func timeWords(t lifecycle.QueryTerm, deadLetters bool) string {
	what := either(deadLetters, "died ", "last event ")
	when := Cut(t.Value, 32)
	if _, isSpan := lifecycle.ParseSpan(strings.TrimPrefix(t.Value, "-")); isSpan {
		when = queryTime(lifecycle.QueryTerm{Value: strings.TrimPrefix(t.Value, "-")}) + " ago"
	}
	return what + either(t.Field == "from", "at or after ", "before ") + when
}
