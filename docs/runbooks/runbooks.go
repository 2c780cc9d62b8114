// Package runbooks holds the runbook of each alert rule: what it means, how to look, what to do, when to worry. The pages serve them.
package runbooks

import "embed"

// Files are the runbooks; each is named by the id of its rule.
//
//go:embed *.md
var Files embed.FS
