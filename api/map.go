package api

import (
	"context"

	"fleetglass/access"
	"fleetglass/query"
)

// FleetMap says who gives work to whom.
type FleetMap struct {
	AsOf       Instant        `json:"as_of"`
	Publishers []MapPublisher `json:"publishers" nullable:"false" doc:"The one with most messages first. With more than 6 one stands for those with least, and the last one for messages that do not say who published them."`
	Agents     []MapAgent     `json:"agents" nullable:"false" doc:"Sorted by name. With more than 16 the last one stands for those with least to do."`
	Truncated  bool           `json:"truncated" doc:"More messages are open than are checked one by one: in_flight and stale are lower bounds."`
}

// MapPublisher is who publishes messages, by the header X-Publisher. Nothing proves it.
type MapPublisher struct {
	Publisher     Text  `json:"publisher" doc:"Null where messages do not say who published them, and where it stands for several." example:"ceo"`
	Several       int   `json:"stands_for" doc:"How many publishers it stands for at least: those beyond the first 200 of an agent are counted together, as one. 0 for messages that do not say who published them." example:"1"`
	Published     int64 `json:"published_last_day" example:"240"`
	HourPublished int64 `json:"published_last_hour" example:"12"`
}

// MapAgent is an agent, or several that have one place.
type MapAgent struct {
	Agent         Text      `json:"agent" doc:"Null where it stands for several." example:"marketing"`
	Several       int       `json:"stands_for" doc:"How many agents it stands for." example:"1"`
	Activity      string    `json:"activity" enum:"busy,idle,silent,paused,gone,unseen" doc:"busy: a message is in its workers' hands. silent: work waits, none is in its hands, and nothing was seen of it for five minutes. paused: a consumer of it is paused. gone: its consumer no longer exists. unseen: nothing was ever seen of it, and no consumer of it is known." example:"busy"`
	InFlight      int       `json:"in_flight" example:"1"`
	Stale         int       `json:"stale" example:"0"`
	Waiting       int64     `json:"waiting" doc:"Tasks that no worker has now." example:"4"`
	HourPublished int64     `json:"published_last_hour" example:"12"`
	HourCompleted int64     `json:"completed_last_hour" example:"11"`
	Published     int64     `json:"published_last_day" example:"240"`
	Completed     int64     `json:"completed_last_day" example:"233"`
	HourFailed    int64     `json:"failed_attempts_last_hour" example:"1"`
	HourDied      int64     `json:"died_last_hour" example:"0"`
	Failed        int64     `json:"failed_attempts_last_day" doc:"Each led to a retry, or to the death of the message." example:"9"`
	Died          int64     `json:"died_last_day" example:"2"`
	LastSeenAt    Instant   `json:"last_seen_at"`
	Types         []MapType `json:"types" nullable:"false" doc:"The one with most messages first. The last one may stand for several."`
}

// MapType is the tasks of one type at an agent.
type MapType struct {
	Type          Text           `json:"type" doc:"Null where it stands for several, or where messages name none." example:"code_review"`
	Several       int            `json:"stands_for" doc:"How many types it stands for; 0 where that is not known, because types beyond the first 200 of an agent are counted together." example:"1"`
	HourPublished int64          `json:"published_last_hour" example:"6"`
	HourCompleted int64          `json:"completed_last_hour" example:"5"`
	Published     int64          `json:"published_last_day" example:"120"`
	Completed     int64          `json:"completed_last_day" example:"118"`
	From          []MapPublisher `json:"publishers" nullable:"false" doc:"Who published them, in the order of the map's publishers."`
}

func (a *API) describeMap() {
	register(a, call{
		id: "get-map", needs: access.Read, path: Base + "/stats/map", tag: "fleet", summary: "Who gives work to whom", example: exampleMap(),
		detail: "Who publishes which task types for which agents, what these have in hand, and what became of it in the last 24 hours.",
	}, a.fleetMap)
}

func (a *API) fleetMap(ctx context.Context, _ *struct{}) (*reply[FleetMap], error) {
	found, err := a.cfg.Query.Map(ctx)
	if err != nil {
		return nil, err
	}
	return &reply[FleetMap]{Status: 200, CacheControl: "no-cache", Body: mapOf(found)}, nil
}

func mapOf(m query.FleetMap) FleetMap {
	out := FleetMap{AsOf: Instant(m.AsOf), Publishers: []MapPublisher{}, Agents: []MapAgent{}, Truncated: m.Partial}
	several := map[string]int{}
	for _, p := range m.Publishers {
		several[p.Name] = p.Several
		out.Publishers = append(out.Publishers, mapPublisher(query.MapGiven{Publisher: p.Name, Published: p.Published, Hour: p.Hour}, p.Several))
	}
	for _, a := range m.Agents {
		agent := MapAgent{
			Agent: Text(a.Name), Several: max(1, a.Several), Activity: string(a.Activity), InFlight: a.Held, Stale: a.Stale, Waiting: a.Waiting, HourPublished: a.HourPublished,
			HourCompleted: a.HourCompleted, HourFailed: a.HourFailed, HourDied: a.HourDied, Published: a.Published, Completed: a.Completed, Failed: a.Failed, Died: a.Died, LastSeenAt: Instant(a.LastSeen), Types: []MapType{},
		}
		if a.Several > 0 {
			agent.Agent = ""
		}
		for _, t := range a.Types {
			typ := MapType{
				Type: Text(t.Name), Several: max(1, t.Several), HourPublished: t.HourPublished, HourCompleted: t.HourCompleted, Published: t.Published, Completed: t.Completed,
				From: []MapPublisher{},
			}
			if t.Others {
				typ.Type, typ.Several = "", 0
			}
			for _, g := range t.From {
				typ.From = append(typ.From, mapPublisher(g, several[g.Publisher]))
			}
			agent.Types = append(agent.Types, typ)
		}
		out.Agents = append(out.Agents, agent)
	}
	return out
}

// mapPublisher is a publisher that stands for so many; 0 for itself.
func mapPublisher(g query.MapGiven, several int) MapPublisher {
	out := MapPublisher{Publisher: Text(g.Publisher), Several: max(1, several), Published: g.Published, HourPublished: g.Hour}
	if several > 0 {
		out.Publisher = ""
	}
	if g.Publisher == "" {
		out.Several = 0
	}
	return out
}

func exampleMap() FleetMap {
	return mapOf(query.FleetMap{AsOf: exampleTime(0), Publishers: []query.MapPublisher{{Name: "ceo", Published: 240, Hour: 12}}, Agents: []query.MapAgent{{
		Name: "marketing", Activity: query.ActivityBusy, Held: 1, Waiting: 4, HourPublished: 12, HourCompleted: 11, Published: 240, Completed: 233, Failed: 9, Died: 2,
		LastSeen: exampleTime(0), Types: []query.MapType{{
			Name: "content_creation", Published: 240, Completed: 233, HourPublished: 12, HourCompleted: 11,
			From: []query.MapGiven{{Publisher: "ceo", Published: 240, Hour: 12}},
		}},
	}}})
}
