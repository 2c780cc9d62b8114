package testkit

import (
	"context"
	"net"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// ReceiverOverGRPC starts a receiver of OTLP over gRPC that ends with the test.
func ReceiverOverGRPC(t testing.TB) *OTLP {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &OTLP{URL: "http://" + listener.Addr().String(), metrics: map[string]bool{}}
	server := grpc.NewServer()
	tracepb.RegisterTraceServiceServer(server, tracesOverGRPC{to: o})
	metricspb.RegisterMetricsServiceServer(server, metricsOverGRPC{to: o})
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Errorf("OTLP over gRPC: %v", err)
		}
	})
	return o
}

type tracesOverGRPC struct {
	tracepb.UnimplementedTraceServiceServer
	to *OTLP
}

// Export implements tracepb.TraceServiceServer.
func (s tracesOverGRPC) Export(_ context.Context, all *tracepb.ExportTraceServiceRequest) (*tracepb.ExportTraceServiceResponse, error) {
	s.to.addSpans(all)
	return &tracepb.ExportTraceServiceResponse{}, nil
}

type metricsOverGRPC struct {
	metricspb.UnimplementedMetricsServiceServer
	to *OTLP
}

// Export implements metricspb.MetricsServiceServer.
func (s metricsOverGRPC) Export(_ context.Context, all *metricspb.ExportMetricsServiceRequest) (*metricspb.ExportMetricsServiceResponse, error) {
	s.to.addMetrics(all)
	return &metricspb.ExportMetricsServiceResponse{}, nil
}
