package fleet

import "github.com/nats-io/nats.go"

// taken is a message that the broker gave to the worker.
type taken struct{ *nats.Msg }

// giveUp answers that the message is never to be delivered again, and why.
func (t taken) giveUp(why string) error { return t.Respond([]byte(string(AnswerTerm) + " " + why)) }
