// Package publishes reads what was published: the stored messages from OBS_PUB, and every attempt, duplicates too, from OBS_RAW. Where
// nothing feeds OBS_RAW it listens to the task subjects itself, which is best effort: what is published while nobody listens is
// not seen. Duplicates caught by the stream are the attempts less the stored messages of one message id.
package publishes
