package brokersync

import "strings"

// matchesAny reports whether a subject is matched by one of a consumer's filters. No filter matches everything.
func matchesAny(filters []string, subject string) bool {
	for _, f := range filters {
		if matches(f, subject) {
			return true
		}
	}
	return len(filters) == 0
}

// matches is the matching of NATS: * is one token, a final > is one or more.
func matches(filter, subject string) bool {
	for {
		want, moreWanted, wantsOn := strings.Cut(filter, ".")
		got, moreGot, goesOn := strings.Cut(subject, ".")
		if want == ">" && !wantsOn {
			return got != ""
		}
		if want != got && (want != "*" || got == "") {
			return false
		}
		if !wantsOn || !goesOn {
			return wantsOn == goesOn
		}
		filter, subject = moreWanted, moreGot
	}
}
