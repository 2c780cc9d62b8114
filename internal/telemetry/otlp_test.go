package telemetry

import (
	"strings"
	"testing"
)

func TestTheStandardVariablesSayWhatIsSent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, env string
		want      OTLP
		wrong     []string
	}{
		{"nothing", "", OTLP{}, nil},
		{"an address for all", "OTEL_EXPORTER_OTLP_ENDPOINT=http://x", OTLP{OverHTTP, OverHTTP}, nil},
		{"an address for traces", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://x", OTLP{Traces: OverHTTP}, nil},
		{"an exporter", "OTEL_METRICS_EXPORTER=otlp", OTLP{Metrics: OverHTTP}, nil},
		{"no exporter", "OTEL_EXPORTER_OTLP_ENDPOINT=http://x OTEL_METRICS_EXPORTER=none", OTLP{Traces: OverHTTP}, nil},
		{"a protocol of one signal", "OTEL_EXPORTER_OTLP_ENDPOINT=http://x OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
			OTLP{OverHTTP, OverGRPC}, nil},
		{"disabled", "OTEL_EXPORTER_OTLP_ENDPOINT=http://x OTEL_SDK_DISABLED=true", OTLP{}, nil},
		{"an unknown exporter", "OTEL_TRACES_EXPORTER=zipkin", OTLP{}, []string{"OTEL_TRACES_EXPORTER"}},
		{"an unknown protocol", "OTEL_EXPORTER_OTLP_ENDPOINT=http://x OTEL_EXPORTER_OTLP_PROTOCOL=http/json OTEL_METRICS_EXPORTER=console", OTLP{},
			[]string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_METRICS_EXPORTER"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{}
			for _, pair := range strings.Fields(tc.env) {
				name, value, _ := strings.Cut(pair, "=")
				env[name] = value
			}
			got, err := ReadOTLP(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			for _, name := range tc.wrong {
				if err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("error %v does not name %s", err, name)
				}
			}
			if err != nil && len(tc.wrong) == 0 {
				t.Error(err)
			}
		})
	}
}
