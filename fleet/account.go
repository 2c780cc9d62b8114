package fleet

import "fmt"

// SelfImport is the part of an account's configuration, in the syntax of nats-server, that shows every publish attempt to the account
// itself under obs.raw.>: the only durable sight of publishes that the stream caught as duplicates (NATS.md, "Duplicate
// publishes"). Agents need no change.
func (c Contract) SelfImport(account string) string {
	return fmt.Sprintf(`exports: [ { stream: %q } ]
imports: [ { stream: { account: %s, subject: %q }, to: %q } ]`, c.TaskSubjects(), account, c.TaskSubjects(), rawPrefix+".*.>")
}
