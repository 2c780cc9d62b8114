package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/restarts"
)

// Restart is something that went away with messages in hand.
type Restart struct {
	ID             string       `json:"id" example:"broker-NDYQ3"`
	Cause          string       `json:"cause" enum:"fleetglass,broker,workers" doc:"What went away. That workers went away is inferred from leases that ran out and that one moment can explain." example:"broker"`
	Provenance     string       `json:"provenance" enum:"recorded,broker,inferred" example:"broker"`
	What           string       `json:"what" doc:"The same in words." example:"12 messages of 3 agents were in hand when the broker went away"`
	From           Instant      `json:"from" doc:"It went away after this time; null where that is not known."`
	To             Instant      `json:"to" doc:"When it was back. Where nobody saw that: by when it had gone away at the latest."`
	Messages       int          `json:"messages" doc:"Messages in hand." example:"12"`
	Partial        bool         `json:"partial" doc:"There may have been more."`
	Agents         []Text       `json:"agents" nullable:"false" doc:"Whose messages they are."`
	Open           int          `json:"open" doc:"Of how many it is not known yet what became of them." example:"0"`
	EndedAt        Instant      `json:"ended_at" doc:"When the last one was resolved; null until then."`
	RecoveryTimeMS int64        `json:"recovery_time_ms" doc:"Milliseconds from the value of to until the last message in hand was resolved, or until now while one is not." example:"8200"`
	Links          RestartLinks `json:"links"`
}

// RestartLinks are the addresses of a restart.
type RestartLinks struct {
	Self string `json:"self" example:"/api/v1/restarts/broker-NDYQ3"`
	Page string `json:"page" example:"/restarts?id=broker-NDYQ3"`
}

// RestartDetail is a restart with the messages that were in hand.
type RestartDetail struct {
	Restart
	Victims  []RestartVictim `json:"victims" nullable:"false" doc:"At most 1,000 of them."`
	Markdown string          `json:"markdown" doc:"The same as text. Names in it are the fleet's, and untrusted."`
}

// RestartVictim is one attempt that was in hand.
type RestartVictim struct {
	TaskID     string   `json:"task_id" example:"blog-post-118"`
	Stream     string   `json:"stream" example:"TASKS"`
	Seq        Sequence `json:"seq" example:"1042"`
	Agent      Text     `json:"agent" example:"marketing"`
	Type       Text     `json:"type" example:"content_creation"`
	Attempt    Count    `json:"attempt" example:"1"`
	LastSignAt Instant  `json:"last_sign_at" doc:"Its delivery or latest heartbeat, as it was known then."`
	DeadlineAt Instant  `json:"deadline_at"`
	Fate       Text     `json:"fate" doc:"What became of it: alive, answered, delivered, dead, decided, gone or forgotten; null while that is not known." example:"delivered"`
	ResolvedAt Instant  `json:"resolved_at" doc:"When that happened."`
}

const restartsDetail = "The latest times at which Fleetglass, the broker or workers went away with messages in hand, and how long it took until it was known what became of all of them. " +
	"The latest comes first; the 20 latest are known. Nothing is listed of a time at which no message was in hand."

func (a *API) describeRestarts() {
	register(a, call{
		id: "list-restarts", needs: access.Read, path: Base + "/restarts", tag: "fleet", summary: "Restarts with messages in hand", detail: restartsDetail,
		example: exampleList(exampleRestart().Restart), failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listRestarts)
	register(a, call{
		id: "get-restart", needs: access.Read, path: Base + "/restarts/{restart_id}", tag: "fleet", summary: "The recovery report of a restart",
		detail: "Each message that was in hand, and what became of it. Markdown, or JSON where Accept prefers it.", failures: []httperr.Code{httperr.NotFound}, example: exampleRestart(),
		shape: func(op *huma.Operation) {
			op.Responses["200"].Content[markdown] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}, Example: exampleRestart().Markdown}
		},
	}, a.getRestart)
}

func (a *API) listRestarts(ctx context.Context, in *PageQuery) (*reply[List[Restart]], error) {
	l, err := a.listRequest(ctx, *in)
	if err != nil {
		return nil, err
	}
	all, err := a.cfg.Query.Restarts(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]Restart, len(all))
	for i := range all {
		rows[i] = restartOf(&all[i], l.now)
	}
	rows, page := window(l, rows, func(r Restart) query.Cursor { return query.Cursor{At: -lifecycle.Micros(r.To), Key: r.ID} })
	return listReply(ctx, l, rows, page, []GapRef{}), nil
}

// RestartQuery names a restart.
type RestartQuery struct {
	RestartID string `path:"restart_id" doc:"The id of a restart." example:"broker-NDYQ3"`
	Accept    string `header:"Accept" hidden:"true"`
}

func (a *API) getRestart(ctx context.Context, in *RestartQuery) (*reportReply, error) {
	r, err := a.cfg.Query.Restart(ctx, in.RestartID)
	if err != nil {
		return nil, err
	}
	out := &reportReply{Status: http.StatusOK, NoSniff: "nosniff", CacheControl: "no-cache", Vary: "Accept"}
	text := a.cfg.Mask.Text(r.Markdown(lifecycle.PageOfTask, a.now()))
	if prefers(in.Accept, "application/json", markdown) {
		out.ContentType = "application/json"
		out.Body = RestartDetail{Restart: restartOf(&r, a.now()), Victims: victimsOf(&r), Markdown: text}
		return out, nil
	}
	out.ContentType, out.Body = markdown+"; charset=utf-8", []byte(text)
	return out, nil
}

func restartOf(r *restarts.Restart, now lifecycle.Micros) Restart {
	out := Restart{
		ID: r.ID, Cause: string(r.Cause), Provenance: string(r.Cause.Provenance()), What: r.Headline(), From: Instant(r.From), To: Instant(r.To), Messages: r.Count(),
		Partial: r.Partial, Agents: []Text{}, Open: r.Open(), EndedAt: Instant(r.EndedAt), RecoveryTimeMS: r.RecoveryTime(now).Milliseconds(),
		Links: RestartLinks{Self: Base + "/restarts/" + url.PathEscape(r.ID), Page: "/restarts?id=" + url.QueryEscape(r.ID)},
	}
	for _, agent := range r.Agents() {
		out.Agents = append(out.Agents, Text(agent))
	}
	return out
}

func victimsOf(r *restarts.Restart) []RestartVictim {
	out := []RestartVictim{}
	for _, v := range r.Victims {
		out = append(out, RestartVictim{
			TaskID: v.TaskID, Stream: v.Message.Stream.String(), Seq: Sequence(v.Message.Seq), Agent: Text(v.Agent), Type: Text(v.Type), Attempt: Count(v.Attempt),
			LastSignAt: Instant(v.LastSign), DeadlineAt: Instant(v.Deadline), Fate: Text(v.Fate), ResolvedAt: Instant(v.ResolvedAt),
		})
	}
	return out
}

func exampleRestart() RestartDetail {
	at := exampleTime(0)
	r := restarts.Restart{
		ID: "broker-NDYQ3", Cause: restarts.CauseBroker, From: at.Add(-9e9), To: at, EndedAt: at.Add(82e8),
		Victims: []restarts.Victim{{
			TaskID: "blog-post-118", Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1042}, Agent: "marketing", Type: "content_creation", Attempt: 1,
			LastSign: at.Add(-60e9), Deadline: at.Add(240e9), Fate: restarts.FateAnswered, ResolvedAt: at.Add(82e8),
		}},
	}
	return RestartDetail{Restart: restartOf(&r, at), Victims: victimsOf(&r), Markdown: r.Markdown(lifecycle.PageOfTask, at)}
}
