package client

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Problem is why the server refused a call (RFC 9457).
type Problem struct {
	Status    int    `json:"status"`
	Code      string `json:"code"` // Such as "entry_busy"; stable.
	Title     string `json:"title"`
	Detail    string `json:"detail"`
	Retryable bool   `json:"retryable"` // The same call may succeed later.
	Errors    []struct {
		Pointer string `json:"pointer"` // The field or parameter.
		Detail  string `json:"detail"`
	} `json:"errors"`

	RetryAfter time.Duration `json:"-"` // How long to wait before the next try; zero where nothing says so.
}

// Error is the title with what stands below it, and when to try again.
func (p *Problem) Error() string {
	parts := []string{p.Title}
	if p.Detail != "" && p.Detail != p.Title {
		parts = append(parts, p.Detail)
	}
	for _, e := range p.Errors {
		if strings.Contains(p.Detail, e.Detail) {
			continue // It is said already.
		}
		parts = append(parts, strings.TrimPrefix(e.Pointer+": "+e.Detail, ": "))
	}
	said := strings.Join(parts, ": ")
	if p.RetryAfter > 0 {
		said = strings.TrimSuffix(said, ".") + "; try again in " + p.RetryAfter.String()
	}
	return said
}

// problemOf reads a refusal. What is no problem document comes from something in between, such as a proxy.
func problemOf(answer *http.Response, text []byte) *Problem {
	p := &Problem{}
	if json.Unmarshal(text, p) != nil || p.Title == "" {
		p.Title, p.Detail = answer.Status, "something between here and the server said so, such as a proxy"
	}
	p.Status = answer.StatusCode
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return p
}
