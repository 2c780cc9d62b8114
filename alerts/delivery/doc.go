// Package delivery tells receivers of alerts: Alertmanagers, and webhooks. Each receiver is told by one replica at a time. Webhooks hear every
// notice once it counts, in order; an Alertmanager gets all that fires, again and again, as it expects.
package delivery
