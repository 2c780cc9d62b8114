// Package randomfleets holds the in-flight board to what workers know. Fleets are made at random: plain clients, which use no code of Fleetglass, pull from a real
// broker, work, send heartbeats, hand back, fall silent and crash, and each keeps its own account of what it held. The package holds tests only;
// docs/adr/0052-the-board-waits-for-no-busy-consumer.md says what they found.
package randomfleets
