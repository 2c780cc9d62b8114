package dlqtriage

import "fleetglass/lifecycle"

// PolicyState is the policy in force, and where it came from.
type PolicyState struct {
	Policy   *Policy
	File     string           // Empty for the built-in policy alone.
	LoadedAt lifecycle.Micros // When this policy came into force.
	Problem  string           // Why the file as it is now cannot be used; empty while it is in force.
}
