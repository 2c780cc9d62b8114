package telemetry

import (
	"errors"
	"fmt"
	"strings"
)

// OTLP says what is sent by OTLP, and how. The zero value sends nothing.
type OTLP struct {
	Traces, Metrics Protocol
}

// Protocol is how a signal is sent; empty where it is not.
type Protocol string

// The protocols that the standard variables may name.
const (
	OverHTTP Protocol = "http/protobuf" // The default.
	OverGRPC Protocol = "grpc"
)

// ReadOTLP reads the standard variables that say whether traces and metrics are sent: a signal is when an address is given for it, or its
// exporter is otlp. Addresses, headers, certificates, timeouts and the sampler are read by the libraries. It errors with all that is wrong.
func ReadOTLP(lookup func(string) (string, bool)) (OTLP, error) {
	v := variables(lookup)
	traces, wrongTraces := v.protocol("TRACES")
	metrics, wrongMetrics := v.protocol("METRICS")
	return OTLP{Traces: traces, Metrics: metrics}, errors.Join(wrongTraces, wrongMetrics)
}

type variables func(string) (string, bool)

// first is the value of the first variable that is set and not empty.
func (v variables) first(names ...string) (name, value string) {
	for _, name := range names {
		if value, _ := v(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

func (v variables) protocol(signal string) (Protocol, error) {
	_, disabled := v.first("OTEL_SDK_DISABLED")
	name, exporter := v.first("OTEL_" + signal + "_EXPORTER")
	_, address := v.first("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	switch {
	case strings.EqualFold(disabled, "true"), exporter == "none", exporter == "" && address == "":
		return "", nil
	case exporter != "" && exporter != "otlp":
		return "", fmt.Errorf("%s: %q is not one of otlp, none", name, exporter)
	}
	name, protocol := v.first("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	switch p := Protocol(protocol); p {
	case "":
		return OverHTTP, nil
	case OverHTTP, OverGRPC:
		return p, nil
	}
	return "", fmt.Errorf("%s: %q is not one of %s, %s", name, protocol, OverHTTP, OverGRPC)
}
