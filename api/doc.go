// Package api is the JSON API: the questions of lifecycle over HTTP, described by an OpenAPI 3.1 document that comes from the same Go
// types. Handlers translate; rules and SQL live elsewhere. The names on the wire are a contract with other programs.
package api
