// Package demo is a fleet of seven agents that really publish, work, crash, time out, duplicate and recover over NATS. What happens to
// task n is a pure function of the seed and n ([Tell]), and a ledger keeps what truly happened, so that everything Fleetglass shows can
// be held against it.
package demo
