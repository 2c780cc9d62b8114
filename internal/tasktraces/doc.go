// Package tasktraces tells a receiver of OpenTelemetry traces of each task that has ended: the task as a span that continues the traceparent of its
// message, its attempts as spans below it, deliveries, answers and reports as events of those. Times and outcomes are as judged; what is not
// known is not said to be well.
//
// Ids of spans are derived from the task, so what is sent again after a crash is the same span. Only one replica sends at a time.
package tasktraces
