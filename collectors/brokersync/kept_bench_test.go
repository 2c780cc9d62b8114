package brokersync

import (
	"fmt"
	"testing"

	"fleetglass/lifecycle"
)

// BenchmarkConsumerOfManyInAStreamThatKeeps looks for the consumer of a message among a thousand of other agents.
func BenchmarkConsumerOfManyInAStreamThatKeeps(b *testing.B) {
	v := view{Observation: Observation{Kept: true}}
	for i := range 1000 {
		agent := fmt.Sprintf("a%d", i)
		v.Consumers = append(v.Consumers, Consumer{ConsumerState: lifecycle.ConsumerState{Name: agent + "-task-worker", Filters: []string{"genbrain.agents." + agent + ".tasks.>"}}})
	}
	last := v.Consumers[999].Name
	m := lifecycle.MessageFacts{Stored: &lifecycle.StoredFacts{Subject: "genbrain.agents.a999.tasks.work"}}
	m.Consumer = last
	for b.Loop() {
		if c := v.consumerOf(m); c == nil || c.Name != last {
			b.Fatal("it is not found")
		}
	}
}
