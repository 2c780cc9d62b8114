package dlqtriage

import "testing"

// What deciding about one entry costs.

func BenchmarkClassify(b *testing.B) {
	table := readReasons(b)
	for i := 0; b.Loop(); i++ {
		DefaultPolicy().Classify(Evidence{Term: table[i%len(table)].text})
	}
}

func BenchmarkPlan(b *testing.B) {
	table := readReasons(b)
	for i := 0; b.Loop(); i++ {
		DefaultPolicy().PlanFor(Case{Class: table[i%len(table)].want, Agent: "marketing", Type: "content_creation", Status: StatusOpen}, planNow)
	}
}
