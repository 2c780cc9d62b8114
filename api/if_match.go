package api

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"fleetglass/decision"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
)

// entityTags finds the tags in a header, weak or not, without their quotes.
var entityTags = regexp.MustCompile(`(?:W/)?"([^"]*)"`)

// tagsOf are the tags that If-Match names, in all its lines (RFC 9110, 13.1.1); none where there is no such header, or where any version will do. One
// that stands there without quotes is taken as it is.
func tagsOf(h http.Header) []string {
	header := strings.TrimSpace(strings.Join(h.Values("If-Match"), ","))
	if header == "" || header == "*" {
		return nil
	}
	var out []string
	for _, m := range entityTags.FindAllStringSubmatch(header, -1) {
		out = append(out, m[1])
	}
	if out == nil {
		return []string{header}
	}
	return out
}

// ifMatch is what tags of one kind of thing are: how they name a revision, and what to say of one that does not.
type ifMatch struct {
	read func(tag string) (revision uint64, ok bool)
	what string // Of what they are tags, such as "the entity tag of a dead letter".
	from string // What to send instead, in a sentence.
}

// seen is the revision of the message that the caller saw; nil where it says nothing of that. Of several tags the one that is of the revision now
// counts. Where none is, it is an earlier one, which is refused as changed. Weak tags count like others: the revision in them is exact.
func (a *API) seen(ctx context.Context, k lifecycle.MessageKey, as ifMatch) (*uint64, error) {
	tags := tagsOf(requestOf(ctx).Header)
	if len(tags) == 0 {
		return nil, nil
	}
	var revisions []uint64
	for _, tag := range tags {
		if revision, ok := as.read(tag); ok {
			revisions = append(revisions, revision)
		}
	}
	if len(revisions) == 0 {
		return nil, httperr.New(httperr.EntryChanged, nil).WithDetail("If-Match is not %s. %s", as.what, as.from).WithField("/header/If-Match", "is not "+as.what)
	}
	if len(revisions) > 1 {
		now, err := a.cfg.Actions.Decisions.Revision(ctx, decision.About(k))
		if err != nil {
			return nil, err
		}
		if slices.Contains(revisions, now) {
			return &now, nil
		}
	}
	return &revisions[0], nil
}
