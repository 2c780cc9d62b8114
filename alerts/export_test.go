package alerts

// Report is report, for tests that move the clock.
var Report = (*Evaluator).report
