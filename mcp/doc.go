// Package mcp is Fleetglass for agents: tools by the Model Context Protocol, over streamable HTTP. A tool is a call of the JSON API, made in
// the process with the token of who uses the tool: so it has the same answer, the same authorization, the same idempotency and the same
// audit. The structured content of a reply is the JSON of that call; the text is the same as compact markdown, with ids and what to do next.
// Texts that come from the fleet are fenced and called untrusted.
package mcp
