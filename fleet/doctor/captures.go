package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// apply is the command that makes what Fleetglass needs.
const apply = "fleetglass provision --apply"

// captureChecks are the traps of what Fleetglass itself looks through (NATS.md, "Capture streams").
func captureChecks() []check {
	return []check{
		{
			code: "capture_missing", severity: Critical, find: missingCaptures,
			title: "A capture stream is missing",
			why:   "What it would record is not seen: Fleetglass is blind there, and says so where it matters.",
		},
		{
			code: "attempts_unseen", severity: Warning, find: unseenAttempts,
			title: "Publish attempts are not recorded",
			why:   "A publish that stored nothing leaves no other trace: duplicates that the stream caught are not counted, and of a publish without an answer nobody knows whether it was tried.",
		},
		{
			code: "capture_uncovered", severity: Critical, find: uncovered,
			title: "A stream of tasks is not recorded",
			why:   "Acknowledgements or advisories about that stream are not recorded, so its tasks cannot be judged.",
		},
		{
			code: "no_republish", severity: Critical, find: notRepublished,
			title: "Publishes are not recorded",
			why:   "Publishes to the stream are seen only while the broker is compared with the store, and the body of a task that ended meanwhile is lost.",
		},
		{
			code: "capture_dedupes", severity: Warning, find: dedupingCaptures,
			title: "A capture stream deduplicates",
			why:   "A message id that comes again is recorded once: duplicates that a stream caught are not counted, nor is a message of another stream that has the id of the first. A broker before 2.14 deduplicates in every stream, a later one in those without a source.",
		},
		{
			code: "capture_answers", severity: Warning, find: answeringCaptures,
			title: "A capture stream answers publishers",
			why:   "It answers publishers who did not publish to it: a publisher may take its answer for that of the task stream.",
		},
		{
			code: "capture_refuses", severity: Warning, find: refusingCaptures,
			title: "A capture stream refuses lines when it is full",
			why:   "When it is full new lines are refused, and Fleetglass sees nothing more.",
		},
		{
			code: "capture_unbounded", severity: Warning, find: unboundedCaptures,
			title: "A capture stream has no limit",
			why:   "It grows until the broker's disk is full, and then the fleet stops.",
		},
		{
			code: "capture_short", severity: Warning, find: shortCaptures,
			title: "A capture stream holds less than an hour",
			why:   "When Fleetglass is away longer than that, the stream discards lines that nobody read: what they said is a gap.",
		},
		{
			code: "capture_in_memory", severity: Warning, find: capturesInMemory,
			title: "A capture stream is kept in memory",
			why:   "A restart of the broker forgets the lines that nobody has read yet: what they said is a gap.",
		},
		{
			code: "capture_consumed", severity: Warning, find: consumedCaptures,
			title: "A capture stream does not keep what it recorded",
			why:   "Its lines go when they are read, or are dropped while nobody reads: nothing can be computed anew from them, and a second set of readers misses them.",
		},
		{
			code: "reports_unanswered", severity: Warning, find: unansweredReports,
			title: "Reports get no answer",
			why:   "Agents publish reports there and wait for the broker's answer: without one nobody knows whether a report was stored.",
		},
		{
			code: "capture_replicas", severity: Warning, find: fewerReplicas,
			title: "A capture stream has too few replicas",
			why:   "When the one server that holds it is away, what the fleet does is not recorded.",
		},
		{
			code: "capture_rewritten", severity: Critical, find: rewritingCaptures,
			title: "A capture stream rewrites its lines",
			why:   "Its lines have other subjects than were published to, and cannot be understood: they end in quarantine.",
		},
		{
			code: "capture_shards", severity: Info, find: othersShards,
			title: "A capture stream is cut otherwise than it is read",
			why:   "The first of the shards that are read takes all lines that are cut otherwise. Nothing is lost by it, but replicas do not share the work.",
		},
		{
			code: "captures_own_acks", severity: Critical, find: feedback,
			title: "A stream records its own readers",
			why:   "It records the acknowledgements of those who read it: each line makes another one, thousands a second.",
		},
		{
			code: "captures_api_calls", severity: Warning, find: apiCalls,
			title: "A capture stream records every request",
			why:   "It records an advisory for each request to the broker, those of Fleetglass included: what concerns tasks is discarded sooner.",
		},
	}
}

// captureNames are the streams that Fleetglass cannot do without.
var captureNames = []string{fleet.CapturePub, fleet.CaptureAck, fleet.CaptureEvt, fleet.CaptureReport}

func missingCaptures(l look) []trap {
	var out []trap
	for _, name := range captureNames {
		if _, there := l.stream(name); !there {
			out = append(out, trap{resource: "stream " + name, what: "It does not exist.", fix: apply})
		}
	}
	return out
}

// attemptsDue is how long after a publish its attempt is recorded, also on a busy broker.
const attemptsDue = 10 * time.Second

// unseenAttempts finds that nothing brings publish attempts to their capture stream: the account's import of its own task subjects is missing.
func unseenAttempts(l look) []trap {
	raw, there := l.stream(fleet.CaptureRaw)
	found := trap{resource: "stream " + fleet.CaptureRaw, what: "It does not exist.", fix: apply}
	if !there {
		return []trap{found}
	}
	for _, s := range l.taskStreams() {
		if raw.State.LastSeq == 0 && s.State.LastTime.After(raw.Created) && raw.At.Sub(s.State.LastTime) > attemptsDue {
			found.what = fmt.Sprintf("It has recorded nothing, and %s stored a message since it was created.", s.Config.Name)
			found.fix = "fleetglass provision, and add the import that it prints to the configuration of the account"
			return []trap{found}
		}
	}
	return nil
}

// recorded are the capture streams that exist, with that of reports.
func (l look) recorded() []Stream {
	out := l.captures()
	if reports, there := l.stream(fleet.CaptureReport); there {
		out = append(out, reports)
	}
	return out
}

// captures are the capture streams that exist, reports left out: agents publish those themselves.
func (l look) captures() []Stream {
	var out []Stream
	for _, name := range []string{fleet.CapturePub, fleet.CaptureRaw, fleet.CaptureAck, fleet.CaptureEvt, fleet.CapturePull} {
		if s, there := l.stream(name); there {
			out = append(out, s)
		}
	}
	return out
}

func uncovered(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		for _, name := range []string{fleet.CaptureAck, fleet.CaptureEvt} {
			if capture, there := l.stream(name); there && !fleet.Captures(name, s.Config.Name, capture.Config.Subjects) {
				return name + " does not record what concerns it.", apply
			}
		}
		return "", ""
	})
}

func notRepublished(l look) []trap {
	return eachStream(l.taskStreams(), func(s Stream) (string, string) {
		capture, there := l.stream(fleet.CapturePub)
		if !there { // That is a finding of its own.
			return "", ""
		}
		r := s.Config.RePublish
		if r == nil || !anyOverlap([]string{r.Destination}, capture.Config.Subjects) {
			return "It does not republish to " + fleet.CapturePub + ".", apply
		}
		for _, subject := range s.Config.Subjects {
			tasks := l.Contract.TaskSubjects()
			if r.Source != "" && fleet.SubjectMatches(tasks, subject) && !fleet.SubjectCovers(r.Source, subject) && !fleet.SubjectCovers(r.Source, tasks) {
				return fmt.Sprintf("It republishes only %s, and takes %s.", r.Source, subject), apply
			}
		}
		return "", ""
	})
}

func dedupingCaptures(l look) []trap {
	return eachStream(l.captures(), func(s Stream) (string, string) {
		window := s.Config.Duplicates
		if name := s.Config.Name; name != fleet.CapturePub && name != fleet.CaptureRaw || window == 0 {
			return "", ""
		}
		fix := apply
		if window == fleet.LeastWindow && len(s.Config.Sources) > 0 {
			fix = "upgrade the broker to nats-server 2.14 or later, then " + apply
		}
		return fmt.Sprintf("It drops message ids that it saw within %s.", lifecycle.Lasting(window)), fix
	})
}

func answeringCaptures(l look) []trap {
	return eachStream(l.captures(), func(s Stream) (string, string) {
		if s.Config.NoAck {
			return "", ""
		}
		return "Its no_ack is off.", apply
	})
}

func refusingCaptures(l look) []trap {
	return eachStream(l.captures(), func(s Stream) (string, string) {
		if s.Config.Discard == jetstream.DiscardOld {
			return "", ""
		}
		return "It discards new lines when it is full.", apply
	})
}

func unboundedCaptures(l look) []trap {
	return eachStream(l.captures(), func(s Stream) (string, string) {
		if s.Config.MaxBytes > 0 {
			return "", ""
		}
		return "It has no max_bytes.", editStream(s, "--max-bytes 512MB")
	})
}

func capturesInMemory(l look) []trap {
	return eachStream(l.recorded(), func(s Stream) (string, string) {
		if s.Config.Storage != jetstream.MemoryStorage {
			return "", ""
		}
		return "It is kept in memory.", "The storage of a stream cannot be changed: delete it when its lines are read, then " + apply
	})
}

func consumedCaptures(l look) []trap {
	return eachStream(l.recorded(), func(s Stream) (string, string) {
		if s.Config.Retention == jetstream.LimitsPolicy {
			return "", ""
		}
		return "Its retention is not limits.", "The retention of a stream cannot be changed: delete it when its lines are read, then " + apply
	})
}

func unansweredReports(l look) []trap {
	reports, there := l.stream(fleet.CaptureReport)
	if !there || !reports.Config.NoAck {
		return nil
	}
	return []trap{{resource: "stream " + fleet.CaptureReport, what: "Its no_ack is on.", fix: apply}}
}

func fewerReplicas(l look) []trap {
	most := 1
	for _, s := range l.taskStreams() {
		most = max(most, s.Config.Replicas)
	}
	return eachStream(l.captures(), func(s Stream) (string, string) {
		if s.Config.Replicas >= most {
			return "", ""
		}
		return fmt.Sprintf("It has %d replicas, and the tasks have %d.", max(s.Config.Replicas, 1), most), editStream(s, fmt.Sprintf("--replicas %d", most))
	})
}

// cut are the streams whose lines may be cut into shards.
func (l look) cut() []Stream {
	return slices.DeleteFunc(slices.Clone(l.Streams), func(s Stream) bool { return !fleet.IsSharded(s.Config.Name) })
}

func rewritingCaptures(l look) []trap {
	return eachStream(l.cut(), func(s Stream) (string, string) {
		if _, ok := l.Contract.ShardsOf(s.Config); ok {
			return "", ""
		}
		return fmt.Sprintf("Its subject_transform makes %s of %s.", s.Config.SubjectTransform.Destination, s.Config.SubjectTransform.Source), apply
	})
}

func othersShards(l look) []trap {
	return eachStream(l.cut(), func(s Stream) (string, string) {
		n, ok := l.Contract.ShardsOf(s.Config)
		if !ok || n == max(l.Shards, 1) { // Of the former there is a finding of its own.
			return "", ""
		}
		return fmt.Sprintf("It is cut into %s, and read in %s.", shards(n), shards(max(l.Shards, 1))), fmt.Sprintf("%s --capture-shards %d", apply, max(l.Shards, 1))
	})
}

func shards(n int) string {
	if n == 1 {
		return "one piece"
	}
	return fmt.Sprintf("%d shards", n)
}

// feedback finds streams that record acknowledgements of any stream, and so of their own readers.
func feedback(l look) []trap {
	return eachStream(l.Streams, func(s Stream) (string, string) {
		own := "$JS.ACK." + s.Config.Name + ".x.1.1.1.1.0"
		i := slices.IndexFunc(s.Config.Subjects, func(subject string) bool {
			return strings.HasPrefix(subject, "$JS.") && fleet.SubjectMatches(subject, own)
		})
		if i < 0 {
			return "", ""
		}
		return "It records " + s.Config.Subjects[i] + ", where its own readers acknowledge.", "Name the stream in the subject, such as $JS.ACK." + fleet.StreamTasks + ".*.*.*.*.*.*"
	})
}

// apiCalls finds capture streams that record the advisory of each request to JetStream.
func apiCalls(l look) []trap {
	return eachStream(l.captures(), func(s Stream) (string, string) {
		i := slices.IndexFunc(s.Config.Subjects, func(subject string) bool { return fleet.SubjectMatches(subject, "$JS.EVENT.ADVISORY.API") })
		if i < 0 {
			return "", ""
		}
		return "It records " + s.Config.Subjects[i] + ", where the broker tells of every request.", apply
	})
}
