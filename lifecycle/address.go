package lifecycle

import (
	"net/url"
	"strings"
)

// TaskSegment is the id of a task as one segment of a path of the API. Slashes, percent signs and bytes that are no text are escaped, and so are the ids
// that read like something else: clients fold dot segments, and /tasks/counts is another call.
func TaskSegment(id string) string {
	switch id {
	case ".", "..":
		return strings.Repeat("%2E", len(id))
	case "counts":
		return "%63ounts"
	}
	return url.PathEscape(id)
}

// PageOfTask is the address of the page of a task.
func PageOfTask(id string) string {
	if id == "." || id == ".." { // Browsers fold dot segments, also escaped ones.
		return "/task?id=" + id
	}
	return "/tasks/" + url.PathEscape(id)
}
