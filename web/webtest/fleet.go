package webtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"fleetglass/lifecycle"
)

// Agents are the seven agents of the demo fleet.
var Agents = []string{"ceo", "cto", "backend", "frontend", "marketing", "devops", "cso"}

// Rich fills a story with tasks in every state, a month of history, a gap and quarantined lines.
func Rich(now time.Time) *Story {
	s := NewStory(now)
	for i, a := range Agents {
		s.Consumer(a, uint64(i%3), -time.Duration(10+40*i)*time.Second)
	}
	s.history(600)
	s.blogPost()
	s.inHand()
	s.dead()
	s.odd()
	s.Batch.Gaps = []lifecycle.Gap{
		{Source: "OBS_ACK", From: s.At(-18*time.Minute - 22*time.Second), To: s.At(-17*time.Minute - 32*time.Second), FromSeq: 90_301, ToSeq: 90_344, Reason: "The collector restarted and the capture had dropped its oldest lines"},
		{Source: "OBS_EVT", From: s.At(-9 * time.Hour), To: s.At(-9*time.Hour + 3*time.Second), FromSeq: 77, ToSeq: 77, Reason: "One advisory was lost", Repaired: true},
	}
	s.Batch.Quarantined = []lifecycle.QuarantinedLine{
		{ID: 1, Source: "OBS_ACK", SourceSeq: 90_110, At: s.At(-3 * time.Hour), Subject: "$JS.ACK.TASKS.cto-task-worker.x.y", Body: []byte("+ACK"), Reason: "the delivery count is not a number"},
		{ID: 2, Source: "OBS_REPORT", SourceSeq: 412, At: s.At(-26 * time.Hour), Subject: "genbrain.lifecycle.cso.<b>bold</b>", Body: []byte("{\"specversion\":<script>alert(1)</script>"), Reason: "the body is not JSON"},
	}
	return s
}

// work is what agents do, with a typical time.
var work = map[string][]struct {
	typ, title string
	takes      time.Duration
}{
	"ceo":       {{"planning", "Triage DLQ: %d entries", 41 * time.Second}, {"planning", "Weekly review %d", 3 * time.Minute}},
	"cto":       {{"code_review", "Review PR %d", 4 * time.Minute}, {"architecture", "Compare vector index options %d", 10 * time.Minute}},
	"backend":   {{"implementation", "Generate API client %d", 8 * time.Minute}, {"code_review", "Review PR %d", 5 * time.Minute}},
	"frontend":  {{"ui_review", "Dark mode contrast audit %d", 7 * time.Minute}, {"implementation", "Fix focus order %d", 6 * time.Minute}},
	"marketing": {{"content_creation", "Write release note %d", 9 * time.Minute}, {"social_media", "Draft launch thread %d", 3 * time.Minute}},
	"devops":    {{"deployment", "Restart preview environment %d", 100 * time.Second}, {"monitoring", "Check alert rule %d", time.Minute}},
	"cso":       {{"vulnerability_scan", "Scan dependencies %d", 4 * time.Minute}, {"compliance", "Check licence %d", 5 * time.Minute}},
}

// history is n completed tasks, most of them lately, some with a failed attempt or a duplicate.
func (s *Story) history(n int) {
	r := rand.New(rand.NewPCG(7, 11))
	for i := range n {
		agent := Agents[r.IntN(len(Agents))]
		w := work[agent][r.IntN(2)]
		ago := -time.Duration(50+r.Float64()*24*60) * time.Minute
		if i%4 == 0 {
			ago = -time.Duration(24+r.Float64()*29*24) * time.Hour
		}
		if i%9 == 0 {
			ago = -time.Duration(20+r.Float64()*35) * time.Minute
		}
		m := s.Publish(fmt.Sprintf("tsk-%06x", 0x100000+i*7919), agent, w.typ, fmt.Sprintf(w.title, 300+i), ago, "")
		at := ago + time.Duration(2+r.IntN(90))*time.Second
		attempt := 1
		s.Deliver(m, 1, at)
		if i%13 == 0 {
			s.Say(lifecycle.Nacked, m, 1, at+20*time.Second, lifecycle.Detail{Ending: lifecycle.Ending{Delay: 30 * time.Second}})
			at, attempt = at+55*time.Second, 2
			s.Deliver(m, 2, at)
		}
		took := time.Duration(float64(w.takes) * (0.5 + r.Float64()))
		if i%2 == 0 && took > 40*time.Second {
			s.Say(lifecycle.Heartbeat, m, attempt, at+30*time.Second, lifecycle.Detail{})
		}
		s.Record(m, at+took-20*time.Millisecond)
		s.Say(lifecycle.Acked, m, attempt, at+took, lifecycle.Detail{})
		if i%17 == 0 {
			s.Duplicate(m, ago+40*time.Second)
		}
	}
}

// blogPost is the long story: a crash, a nak, a termination, and a retry that completes.
func (s *Story) blogPost() {
	sec := func(n float64) time.Duration { return -time.Duration((22*60 - n) * float64(time.Second)) }
	body := `{"taskId":"tsk-7f3a91","assignee":"marketing","type":"content_creation","payload":{"title":"Write blog post on retry semantics","outline":["at least once","idempotent effects","what <b>not</b> to promise"],"words":1400,"tone":"plain"},"createdAt":1795142400000,"version":1,"model":"sonnet-180k","token_budget":180000}`
	m := s.Publish("tsk-7f3a91", "marketing", "content_creation", "Write blog post on retry semantics", sec(12), body)
	s.Duplicate(m, sec(52))
	s.Deliver(m, 1, sec(98))
	s.Report(lifecycle.ReportClaimed, m, 1, sec(98.4), lifecycle.Detail{LeaseReport: lifecycle.LeaseReport{LeaseOwner: "mkt-7c9d-2", LeaseVersion: 311}})
	s.Report(lifecycle.ReportAccepted, m, 1, sec(98.9), lifecycle.Detail{LeaseReport: lifecycle.LeaseReport{LeaseOwner: "mkt-7c9d-2", LeaseVersion: 311}})
	for i := range 3 {
		s.Say(lifecycle.Heartbeat, m, 1, sec(138+40*float64(i)), lifecycle.Detail{})
	}
	s.Report(lifecycle.ReportStepIntent, m, 1, sec(151.7), lifecycle.Detail{StepReport: lifecycle.StepReport{StepID: "draft", StepClass: "keyed", Tool: "cms.create_draft", InputHash: "9f2c61"}})
	s.Expire(m, 1, sec(218), sec(248))
	s.Deliver(m, 2, sec(338))
	s.Say(lifecycle.Heartbeat, m, 2, sec(378), lifecycle.Detail{})
	s.Say(lifecycle.Nacked, m, 2, sec(412.1), lifecycle.Detail{Ending: lifecycle.Ending{Delay: 2 * time.Minute, Reason: "llm_provider_rate_limit: 429, retry-after 120"}})
	s.Deliver(m, 3, sec(532.1))
	for i := range 6 {
		s.Say(lifecycle.Heartbeat, m, 3, sec(572+40*float64(i)), lifecycle.Detail{})
	}
	s.Report(lifecycle.ReportFailed, m, 3, sec(788.9), lifecycle.Detail{
		Ending:   lifecycle.Ending{Reason: "context window overflow"},
		ModelUse: lifecycle.ModelUse{Model: "sonnet-180k", InputTokens: 212431, CostUSD: 1.12},
	})
	s.Say(lifecycle.Terminated, m, 3, sec(790.3), lifecycle.Detail{Ending: lifecycle.Ending{Reason: "context_window_overflow: 212431 tokens > 180000"}})
	s.Tell(lifecycle.TermConfirmed, lifecycle.Broker, m, 3, sec(790.31), lifecycle.Detail{Ending: lifecycle.Ending{Reason: "context_window_overflow: 212431 tokens > 180000"}})
	s.Bury(m, "conditionally_recoverable", 1187, sec(790.4))
	again := s.PublishAgain("tsk-7f3a91", "marketing", "content_creation", "Write blog post on retry semantics", sec(852), body, 1, m.Key.String())
	s.Deliver(again, 1, sec(871.2))
	s.Report(lifecycle.ReportClaimed, again, 1, sec(871.4), lifecycle.Detail{LeaseReport: lifecycle.LeaseReport{LeaseOwner: "mkt-9f21-4", LeaseVersion: 314}})
	for i := range 10 {
		s.Say(lifecycle.Heartbeat, again, 1, sec(911+40*float64(i)), lifecycle.Detail{})
	}
	s.Report(lifecycle.ReportStepIntent, again, 1, sec(1180.4), lifecycle.Detail{StepReport: lifecycle.StepReport{StepID: "draft", StepClass: "keyed", Tool: "cms.create_draft", InputHash: "9f2c61"}})
	s.Report(lifecycle.ReportStepReceipt, again, 1, sec(1182), lifecycle.Detail{
		StepReport:    lifecycle.StepReport{StepID: "draft", StepClass: "keyed", Tool: "cms.create_draft", InputHash: "9f2c61"},
		OutcomeReport: lifecycle.OutcomeReport{ResultRef: "draft-2291"},
	})
	s.Record(again, sec(1280.1))
	s.Say(lifecycle.Acked, again, 1, sec(1280.13), lifecycle.Detail{})
	s.Tell(lifecycle.AckConfirmed, lifecycle.Broker, again, 1, sec(1280.14), lifecycle.Detail{Ending: lifecycle.Ending{AckTime: 9 * time.Second}})
}

// inHand is what workers hold, healthy and not.
func (s *Story) inHand() {
	hold := func(id, agent, typ, title string, published, delivered time.Duration, attempt int, beats ...time.Duration) Message {
		m := s.Publish(id, agent, typ, title, published, "")
		for n := 1; n < attempt; n++ {
			at := published + time.Duration(n)*5*time.Second
			s.Deliver(m, n, at)
			s.Say(lifecycle.Nacked, m, n, at+2*time.Second, lifecycle.Detail{})
		}
		s.Deliver(m, attempt, delivered)
		for _, b := range beats {
			s.Say(lifecycle.Heartbeat, m, attempt, b, lifecycle.Detail{})
		}
		return m
	}
	min, sec := time.Minute, time.Second
	m := hold("tsk-a90d27", "devops", "deployment", "Deploy staging", -24*min, -9*min-6*sec, 3, -6*min-48*sec)
	s.Report(lifecycle.ReportStepIntent, m, 3, -7*min, lifecycle.Detail{
		LeaseReport: lifecycle.LeaseReport{LeaseOwner: "dev-41aa-1", LeaseVersion: 88},
		StepReport:  lifecycle.StepReport{StepID: "rollout", StepClass: "unsafe", Tool: "kubectl.rollout"},
	})
	hold("tsk-5c01e8", "backend", "code_review", "Review PR 412", -16*min, -11*min-48*sec, 2, -6*min-12*sec)
	hold("tsk-2be743", "frontend", "implementation", "Fix focus order in settings dialog", -6*min, -26*sec, 1)
	beats := []time.Duration{}
	for b := -61 * min; b < 0; b += 25 * sec {
		beats = append(beats, b)
	}
	m = hold("tsk-91b6c4", "cto", "architecture", "Architecture note: outbox relay", -63*min, -61*min-20*sec, 1, beats...)
	s.Report(lifecycle.ReportClaimed, m, 1, -61*min, lifecycle.Detail{LeaseReport: lifecycle.LeaseReport{LeaseOwner: "cto-77d1-2", LeaseVersion: 54}})
	m = hold("tsk-d3380f", "marketing", "social_media", "Draft launch thread for v2.3", -4*min, -3*min-51*sec, 1, -3*min-30*sec, -3*min-5*sec, -2*min-40*sec, -2*min-15*sec, -110*sec, -85*sec, -60*sec, -35*sec, -11*sec)
	s.Report(lifecycle.ReportClaimed, m, 1, -3*min-50*sec, lifecycle.Detail{LeaseReport: lifecycle.LeaseReport{LeaseOwner: "mkt-9f21-4", LeaseVersion: 317}})
	s.Report(lifecycle.ReportAccepted, m, 1, -3*min-49*sec, lifecycle.Detail{LeaseReport: lifecycle.LeaseReport{LeaseOwner: "mkt-9f21-4", LeaseVersion: 317}})
	m = hold("tsk-0f7ad2", "cso", "vulnerability_scan", "Scan dependencies for lockfile drift", -9*min, -62*sec, 2, -22*sec)
	s.Duplicate(m, -8*min)
	for i, p := range []struct{ id, agent, typ, title string }{
		{"tsk-e8c415", "marketing", "content_creation", "Write release notes for v2.3"}, {"tsk-77d0ab", "devops", "infrastructure", "Rotate staging TLS certificate"},
		{"tsk-15c9e2", "backend", "debugging", "Find the slow query in the usage export"}, {"tsk-9ad410", "cto", "code_review", "Review PR 415"},
	} {
		s.Publish(p.id, p.agent, p.typ, p.title, -time.Duration(2+2*i)*min, "")
	}
}

// dead is what ended without completing.
func (s *Story) dead() {
	categories := []string{"llm_provider_timeout", "llm_provider_timeout", "llm_provider_timeout", "llm_provider_rate_limit", "context_window_overflow", "authority_exceeded", "llm_provider_timeout", "hallucination_loop", "unclassified", "llm_provider_rate_limit"}
	titles := []string{"Summarise incident 2026-11-19", "Generate API client from OpenAPI", "Post changelog to forum", "Refactor retry processor tests", "Index the support archive", "Approve vendor contract renewal", "Draft the hiring page", "Describe the billing flow", "Parse the partner feed", "Translate the pricing page"}
	for i, c := range categories {
		agent := Agents[(i*2+1)%len(Agents)]
		ago := -time.Duration(12+7*i) * time.Minute
		m := s.Publish(fmt.Sprintf("tsk-b4e9%02x", i), agent, work[agent][0].typ, titles[i], ago-12*time.Minute, "")
		s.Deliver(m, 1, ago-11*time.Minute)
		if c == "context_window_overflow" || c == "authority_exceeded" {
			s.Say(lifecycle.Terminated, m, 1, ago-10*time.Minute, lifecycle.Detail{Ending: lifecycle.Ending{Reason: c}})
		} else {
			for n := 2; n <= 3; n++ {
				s.Deliver(m, n, ago-time.Duration(12-3*n)*time.Minute)
			}
			s.Tell(lifecycle.MaxDeliveries, lifecycle.Broker, m, 3, ago, lifecycle.Detail{})
		}
		s.Bury(m, c, 1190+i, ago+40*time.Millisecond)
	}
	m := s.Publish("tsk-6c40d1", "devops", "deployment", "Clean up old preview volumes", -30*time.Minute, "")
	s.Deliver(m, 1, -29*time.Minute)
	s.Say(lifecycle.Terminated, m, 1, -28*time.Minute, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "dependency_unavailable: registry.internal"}})
}

// odd is what rarely happens.
func (s *Story) odd() {
	m := s.Publish("tsk-a2c7d9", "marketing", "social_media", "Post changelog to the forum", -51*time.Minute, "")
	s.Deliver(m, 1, -45*time.Minute)
	s.Tell(lifecycle.Vanished, lifecycle.Broker, m, 0, -41*time.Minute, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "gone from the stream between two polls"}})
	m = s.Publish("orders/2026/11 weird id?&#%", "ceo", "planning", "An id with slashes <script>alert(1)</script>", -33*time.Minute, "")
	s.Deliver(m, 1, -32*time.Minute)
	s.Say(lifecycle.Acked, m, 1, -31*time.Minute, lifecycle.Detail{})
	m = s.Publish("tsk-nobody", "legal", "contract_review", "Nobody takes this one", -20*time.Minute, "not json at all: \x00\xff\xfe binary")
	s.Tell(lifecycle.Orphaned, lifecycle.Inferred, m, 0, -19*time.Minute, lifecycle.Detail{})
	m = s.Publish("tsk-twice0", "backend", "implementation", "Charge the card", -90*time.Minute, "")
	s.Deliver(m, 1, -89*time.Minute)
	s.Record(m, -85*time.Minute)
	s.Expire(m, 1, -89*time.Minute, -84*time.Minute)
	s.Deliver(m, 2, -83*time.Minute)
	s.Say(lifecycle.Acked, m, 2, -83*time.Minute+800*time.Millisecond, lifecycle.Detail{})
	s.Event(lifecycle.Event{Kind: lifecycle.PublishAttempted, At: s.At(-7 * time.Minute), Source: "OBS_RAW", TaskID: "tsk-refused", Agent: "cso",
		Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "tsk-refused", Subject: "genbrain.agents.cso.tasks.compliance", Type: "compliance"}}})
	s.Event(lifecycle.Event{Kind: lifecycle.NotStored, At: s.At(-6 * time.Minute), Provenance: lifecycle.Inferred, Source: "OBS_RAW", TaskID: "tsk-refused", Agent: "cso"})
}
