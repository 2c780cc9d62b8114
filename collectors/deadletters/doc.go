// Package deadletters reads the streams of dead-letter entries. Each entry becomes an event about the message that died; which message that is says
// the entry itself, and whether it may say so is judged by the fold (package lifecycle), which holds it against what the fleet's stream showed.
package deadletters
