package lifecycle

// A consumer goes through its stream once. What it is past, and awaits no answer to, it delivers no more: it dropped the message, the answer's line was
// lost and the message stayed, or it took the subject only later.

// Stranded reports whether the message's consumer is past it and awaits no answer to it, although it is in the stream.
func (m *MessageFacts) Stranded() bool { return m.StrandedAt > m.AdoptedAt }
