// Package autotriage takes the decisions about dead letters that the policy allows without anybody asking, and tells the CEO agent, or a webhook, of
// all others, once. What it decides goes through the same service as everybody's decisions, with itself as the actor.
package autotriage
