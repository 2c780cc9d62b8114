package fleet

import (
	"errors"
	"testing"

	"fleetglass/lifecycle"
)

func TestASenderReportsForItsAgentsOnly(t *testing.T) {
	t.Parallel()
	const cto, cfo = "/agents/cto", "/agents/cfo"
	for _, tc := range []struct {
		name, source, extension, data string
		may                           []string
		want, field                   string
	}{
		{name: "any agent where it is bound to none", source: cto, data: `{"agent":"ceo"}`, want: "ceo"},
		{name: "its own, named in the data", source: "backend", data: `{"agent":"cto"}`, may: []string{"cto"}, want: "cto"},
		{name: "its own, named by the source", source: cto, data: `{}`, may: []string{"cto", "cfo"}, want: "cto"},
		{name: "its own, not named", source: "backend", data: `{}`, may: []string{"cto"}, want: "cto"},
		{name: "not named, one of two", source: "backend", data: `{}`, may: []string{"cto", "cfo"}, field: "/data/agent"},
		{name: "another one in the data", source: cto, data: `{"agent":"cfo"}`, may: []string{"cto"}, field: "/data/agent"},
		{name: "another one by its id", source: cto, data: `{"agent_id":"cfo"}`, may: []string{"cto"}, field: "/data/agent_id"},
		{name: "another one beside its own", source: cto, data: `{"agent":"cto","agent_id":"cfo"}`, may: []string{"cto"}, field: "/data/agent_id"},
		{name: "another one in the extension", source: cto, extension: "cfo", data: `{"agent":"cto"}`, may: []string{"cto"}, field: "/agent"},
		{name: "another one as the source", source: cfo, data: `{"agent":"cto"}`, may: []string{"cto"}, field: "/source"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			body := `{"specversion":"1.0","id":"1","source":"` + tc.source + `","type":"fleet.lifecycle.claimed.v1","subject":"T","data":` + tc.data
			if tc.extension != "" {
				body += `,"agent":"` + tc.extension + `"`
			}
			events, err := DecodeReports(nil, []byte(body+"}"), ReportOrigin{Source: "http", At: 1, Agents: tc.may, By: "relay"})
			var foreign *ForeignReport
			switch {
			case tc.field != "" && (!errors.As(err, &foreign) || foreign.Field != tc.field):
				t.Errorf("got %v and %v, want a refusal of %s", events, err, tc.field)
			case tc.field == "" && (err != nil || events[0].Agent != tc.want || events[0].Detail.ReportedBy != "relay"):
				t.Errorf("got %+v and %v, want agent %q", events, err, tc.want)
			}
		})
	}
}

func TestWhatASubjectSaysOfTheAgentStays(t *testing.T) {
	t.Parallel()
	body := `{"specversion":"1.0","id":"1","source":"/agents/cfo","type":"fleet.lifecycle.claimed.v1","subject":"T","data":{"agent":"ceo"}}`
	events, err := DecodeReports(nil, []byte(body), ReportOrigin{Source: "OBS_REPORT", At: lifecycle.Micros(1), Agent: "cto"})
	if err != nil || events[0].Agent != "cto" {
		t.Errorf("got %+v, %v; want agent cto", events, err)
	}
}

func TestNobodyTakesTheIdOfAnothersReport(t *testing.T) {
	t.Parallel()
	id := func(source string, from ReportOrigin) lifecycle.EventID {
		body := `{"specversion":"1.0","id":"1","source":"` + source + `","type":"fleet.lifecycle.claimed.v1","subject":"T","data":{}}`
		from.At = 1
		events, err := DecodeReports(nil, []byte(body), from)
		if err != nil {
			t.Fatal(err)
		}
		return events[0].ID
	}
	wire := func(agent string) ReportOrigin { return ReportOrigin{Source: "OBS_REPORT", Agent: agent} }
	bound := func(agent string) ReportOrigin { return ReportOrigin{Source: "http", Agents: []string{agent}} }
	relay := ReportOrigin{Source: "http", By: "relay"}
	for _, source := range []string{"cto", "runtime", "urn:fleet:cto"} {
		if id(source, bound("cto")) == id(source, bound("cfo")) || id(source, wire("cto")) == id(source, wire("cfo")) {
			t.Errorf("source %q: reports of two agents are one event", source)
		}
		if id(source, bound("cto")) != id(source, wire("cto")) {
			t.Errorf("source %q: one report that comes by both ways is two events", source)
		}
	}
	if own := id("/agents/cto", wire("cto")); own != id("/agents/cto", bound("cto")) || own != id("/agents/cto", relay) || own == id("/agents/cto", wire("mallory")) {
		t.Error("want one event of an agent's own source by every way, and another one where somebody else uses it")
	}
}
