// Package advisories reads OBS_EVT: what the broker itself says about deliveries. Advisories carry no headers and no payload, and some
// of them come late or never (NATS.md, "Advisories and the metric").
package advisories
