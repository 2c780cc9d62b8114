package api

import (
	"encoding/base64"
	"net/url"
	"unicode/utf8"

	"fleetglass/lifecycle"
)

// How bytes are written in JSON.
const (
	encodingUTF8   = "utf-8"
	encodingBase64 = "base64"
)

// bytesAsText gives bytes as text when they are valid UTF-8, else in base64, with the name of the encoding.
func bytesAsText(b []byte) (text, encoding string) {
	if utf8.Valid(b) {
		return string(b), encodingUTF8
	}
	return base64.StdEncoding.EncodeToString(b), encodingBase64
}

// Base is where the calls are.
const Base = "/api/v1"

// taskPath is the address of a task.
func taskPath(id string) string { return Base + "/tasks/" + lifecycle.TaskSegment(id) }

// entriesOfTask is the address of the dead letters of a task.
func entriesOfTask(id string) string {
	return Base + "/dlq?" + url.Values{"id": {id}}.Encode()
}

// agentPath is the address of an agent.
func agentPath(agent string) string { return Base + "/agents/" + url.PathEscape(agent) }

// tasksOfAgent is the address of an agent's tasks.
func tasksOfAgent(agent string) string {
	return Base + "/tasks?" + url.Values{"agent": {agent}}.Encode()
}
