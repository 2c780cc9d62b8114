package telemetry

import (
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
)

// HTTP counts requests by the pattern of their route, never by their path.
func HTTP(r *Registry, now func() time.Time) gin.HandlerFunc {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fleetglass_http_requests_total", Help: "Requests by route, method and class of status.",
	}, []string{"route", "method", "status"})
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "fleetglass_http_request_seconds", Help: "Time to answer, by route. Live streams count with their whole length.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 3, 10),
	}, []string{"route"})
	r.MustRegister(requests, seconds)
	return func(c *gin.Context) {
		begin := now()
		c.Next()
		route := c.FullPath()
		if route == "" {
			route = "none"
		}
		requests.WithLabelValues(route, method(c.Request.Method), strconv.Itoa(c.Writer.Status()/100)+"xx").Inc()
		seconds.WithLabelValues(route).Observe(now().Sub(begin).Seconds())
	}
}

// method keeps the label bounded: a client may invent methods.
func method(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return m
	}
	return "other"
}
