//go:build linux

package situations

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// closed are states of a message that nobody delivers again.
var closed = []string{"completed", "terminated", "exhausted", "removed", "dead_lettered", "triaged", "outcome_unknown"}

// held are ways to say that somebody, or the stream, has a message, and over the states in which neither does.
var (
	held = []string{"and still has it", "the stream has it", "the stream has had it", "a worker has"}
	over = []string{"completed", "terminated", "removed", "outcome_unknown"}
)

// again are ways to say that the broker delivers a message once more.
var again = []string{"delivers it again", "next free worker", "waits for a worker"}

// sound holds while what is said of a task does not contradict itself, whatever the row is about, nor what its clients know: that its messages were stored.
func sound(s story) error {
	t := s.told()
	if t == nil {
		return nil
	}
	words := t.words()
	if len(s.stored[s.task]) > 0 && strings.Contains(words, "publish it again") {
		return errors.New("it was stored, and the answers say to publish it again")
	}
	for _, h := range inAnswers(t.Answers, "headline") {
		if n := len(strings.Fields(h)); n > 9 {
			return fmt.Errorf("a headline of %d words: %q", n, h)
		}
	}
	for _, text := range inAnswers(t.Answers, "text") {
		if secondSentence.MatchString(text) {
			return fmt.Errorf("more than one sentence: %q", text)
		}
	}
	if strings.Contains(words, "will be delivered") {
		return errors.New("the answers promise a delivery")
	}
	if err := attemptsLeft(words); err != nil {
		return err
	}
	if strings.Contains(words, "nothing to do") && slices.ContainsFunc(t.Messages, func(m seenMessage) bool { return !slices.Contains(closed, m.State) }) {
		return errors.New("a message of it is not over, and the answers say that there is nothing to do")
	}
	if l := t.Lease; l != nil && l.StaleKind != nil && *l.StaleKind == "expiring" {
		now, err := s.now()
		if err != nil {
			return err
		}
		now = now.Add(-time.Since(s.asked)) // When the story was asked for.
		if l.DeadlineAt == nil || l.DeadlineAt.Before(now.Add(-time.Second)) {
			return fmt.Errorf("a lease whose deadline is %v is expiring at %v", l.DeadlineAt, now)
		}
	}
	if t.Lease != nil && slices.Contains(over, t.State) {
		return fmt.Errorf("it is %s, and there is a lease", t.State)
	}
	for _, phrase := range held {
		if slices.Contains(over, t.State) && strings.Contains(words, phrase) {
			return fmt.Errorf("it is %s, and the answers say %q", t.State, phrase)
		}
	}
	if !slices.Contains(closed, t.State) || slices.ContainsFunc(t.Messages, func(m seenMessage) bool { return !slices.Contains(closed, m.State) }) {
		return nil
	}
	for _, phrase := range again {
		if strings.Contains(strings.ReplaceAll(words, "nobody delivers it again", ""), phrase) {
			return fmt.Errorf("it is %s, and the answers say %q", t.State, phrase)
		}
	}
	return nil
}

// attemptsLeft holds where answers that say that no attempt is left name none of several of which one is.
func attemptsLeft(words string) error {
	if !strings.Contains(words, "no attempt is left") && !strings.Contains(words, "last attempt") {
		return nil
	}
	for _, named := range attemptOf.FindAllStringSubmatch(words, -1) {
		if n, _ := strconv.Atoi(named[1]); named[2] != strconv.Itoa(n) {
			return fmt.Errorf("no attempt is left, beside %q", named[0])
		}
	}
	return nil
}

var attemptOf = regexp.MustCompile(`attempt (\d+) of (\d+)`)

// secondSentence is where another sentence begins.
var secondSentence = regexp.MustCompile(`[.!?] +["A-Z0-9]`)

// inAnswers is what a field of the three answers says.
func inAnswers(answers any, field string) (out []string) {
	all, _ := answers.(map[string]any)
	for _, a := range all {
		if one, ok := a.(map[string]any); ok {
			if h, ok := one[field].(string); ok {
				out = append(out, h)
			}
		}
	}
	return out
}
