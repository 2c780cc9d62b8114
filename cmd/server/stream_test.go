package main

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

// lineOf returns the first line that has all the words. It errors by an empty line when the stream ends or patience does.
func lineOf(lines *bufio.Scanner, words ...string) string {
	found := make(chan string, 1)
	go func() {
		defer close(found)
	line:
		for lines.Scan() {
			for _, word := range words {
				if !strings.Contains(lines.Text(), word) {
					continue line
				}
			}
			found <- lines.Text()
			return
		}
	}()
	select {
	case text := <-found:
		return text
	case <-time.After(patience):
		return ""
	}
}

func TestTheStreamTellsOfDeadLettersAndOfWhatIsDoneAboutThem(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	_, lines := r.live()
	worker := connectAgent(t, r.AgentsURL())
	worker.publish("review-1", `{"taskId":"review-1","type":"code_review"}`)
	worker.do(worker.take().TermWithReason("503 overloaded"))
	if text := lineOf(lines, `"self":"/api/v1/dlq?id=review-1"`); text == "" {
		t.Fatalf("the stream does not tell of the dead letter: %v", lines.Err())
	}
	asked := r.retry("TASKS:1", "k1")
	if text := lineOf(lines, `"id":"`+asked.ID+`"`, `"self":"/api/v1/operations/`+asked.ID+`"`, `"done":1`); text == "" {
		t.Fatalf("the stream does not tell that the action ended: %v", lines.Err())
	}
	worker.do(worker.take().Ack())
	r.followed(asked.ID, "resolved")
}
