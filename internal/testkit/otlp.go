package testkit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// OTLP is a receiver of OTLP, of the protocol's own types.
type OTLP struct {
	URL string

	mu      sync.Mutex
	status  int // What it answers; zero takes everything in.
	traces  []*v1.ResourceSpans
	metrics map[string]bool
	posts   int
}

// Receiver starts a receiver of OTLP over HTTP that ends with the test.
func Receiver(t testing.TB) *OTLP {
	t.Helper()
	o := &OTLP{metrics: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		var all tracepb.ExportTraceServiceRequest
		if o.take(w, r, &all) {
			o.addSpans(&all)
		}
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		var all metricspb.ExportMetricsServiceRequest
		if o.take(w, r, &all) {
			o.addMetrics(&all)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	o.URL = server.URL
	return o
}

// take decodes a request, unless the receiver refuses everything.
func (o *OTLP) take(w http.ResponseWriter, r *http.Request, into proto.Message) bool {
	o.mu.Lock()
	o.posts++
	status := o.status
	o.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, into)
	}
	if err != nil {
		status = http.StatusBadRequest
	}
	if status != 0 {
		w.WriteHeader(status)
	}
	return status == 0
}

func (o *OTLP) addSpans(all *tracepb.ExportTraceServiceRequest) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.traces = append(o.traces, all.GetResourceSpans()...)
}

func (o *OTLP) addMetrics(all *metricspb.ExportMetricsServiceRequest) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range all.GetResourceMetrics() {
		for _, s := range r.GetScopeMetrics() {
			for _, m := range s.GetMetrics() {
				o.metrics[m.GetName()] = true
			}
		}
	}
}

// Refuse makes the receiver answer everything with the given status; zero ends that.
func (o *OTLP) Refuse(status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status = status
}

// Posts is how many requests came.
func (o *OTLP) Posts() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.posts
}

// HasMetric reports whether a metric of that name came.
func (o *OTLP) HasMetric(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.metrics[name]
}

// Span is a span that came, with the service that sent it.
type Span struct {
	*v1.Span
	Service string
}

// Attribute is the text of an attribute; empty where there is none.
func (s Span) Attribute(key string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// Spans lists what came, in order.
func (o *OTLP) Spans() (out []Span) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.traces {
		service := ""
		for _, a := range r.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, s := range r.GetScopeSpans() {
			for _, span := range s.GetSpans() {
				out = append(out, Span{span, service})
			}
		}
	}
	return out
}
