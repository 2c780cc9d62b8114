package web_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/access"
	"fleetglass/web/webtest"
)

func TestWhoLacksARightGetsTheTextToAskForIt(t *testing.T) {
	t.Parallel()
	secret, entry := access.NewToken("ann", []access.Scope{access.Read}, time.Time{})
	tokens, err := access.NewTokens(access.Config{Tokens: []access.Token{entry}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	asAnn := func(s *site, path string, want wants) {
		answer := s.fetch(t, path, http.Header{"Authorization": {"Bearer " + secret}})
		doc, err := goquery.NewDocumentFromReader(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, answer.Status, err)
		}
		want.check(t, doc)
	}
	s := newSite(t, webtest.Rich(noon).Batch, acting, alerting, func(c *setup) { c.Tokens = tokens })
	s.fires(t, zombie("a", "cto"))
	for path, want := range map[string]wants{
		"/alerts":           {"#actions-off": "it needs the scope triage:apply", "#actions-off [hidden]": "Request for access: ann needs the scope triage:apply in Fleetglass (test). Now: read.", `#actions-off [data-copy="#actions-off-ask"]`: "Copy request for access", "#board form": "=0"},
		"/tasks/tsk-a90d27": {"#held-off [hidden]": "ann needs the scope triage:propose", "#held-off button": "Copy request for access", "#held form": "=0"},
	} {
		asAnn(s, path, want)
	}
	// On a server that changes nothing no access helps, so none is offered.
	s = newSite(t, webtest.Rich(noon).Batch, acting, alerting, func(c *setup) { c.Tokens, c.Access.ReadOnly = tokens, true })
	s.fires(t, zombie("a", "cto"))
	asAnn(s, "/alerts", wants{"#actions-off": "This server is in read-only mode", "#actions-off button": "=0", "#board form": "=0"})
	asAnn(s, "/tasks/tsk-a90d27", wants{"#held-off": "This server is in read-only mode", "#held-off button": "=0", "#held form": "=0"})
}
