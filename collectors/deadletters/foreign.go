package deadletters

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"fleetglass/fleet"
)

// names are the names under which other monitors say what the headers of the contract say, without regard to case, dashes and underscores.
var names = map[string][]string{
	"stream":     {"stream", "originalstream", "sourcestream", "xdlqstream"},
	"seq":        {"seq", "streamseq", "originalseq", "sequence", "natsstreamseq", "xdlqseq"},
	"consumer":   {"consumer", "originalconsumer", "xdlqconsumer"},
	"subject":    {"subject", "originalsubject", "xdlqsubject"},
	"path":       {"path", "failurepath", "xdlqpath"},
	"category":   {"category", "failurecategory", "xdlqcategory"},
	"detail":     {"detail", "failuredetail", "subcategory", "xdlqdetail"},
	"reason":     {"reason", "error", "lasterror", "errormessage", "failurereason", "xdlqreason"},
	"deliveries": {"deliveries", "deliverycount", "numdelivered", "attempts", "xdlqdeliveries"},
	"failedAt":   {"failedat", "diedat", "timestamp", "time", "xdlqfailedat"},
	"taskID":     {"taskid", "originaltaskid", "xtaskid"},
	"msgID":      {"msgid", "messageid", "originalmsgid", "natsmsgid", "xdlqmsgid"},
}

// nested are objects in which some monitors keep what they know of the message.
var nested = []string{"original", "originalmessage", "metadata", "dlq"}

// fromBody reads what the JSON body of another monitor's entry says. A body that is no JSON object says nothing.
func fromBody(headers map[string][]string, body []byte) claim {
	said := map[string]string{}
	gather(said, body, true)
	get := func(name string) string {
		for _, alias := range names[name] {
			if text := said[alias]; text != "" {
				return text
			}
		}
		return ""
	}
	c := claim{
		stream: get("stream"), consumer: get("consumer"), subject: get("subject"), path: get("path"), category: get("category"), detail: get("detail"),
		reason: get("reason"), failedAt: fleet.ParseInstant(get("failedAt")), msgID: get("msgID"),
	}
	c.seq, _ = strconv.ParseUint(get("seq"), 10, 64)
	if n, err := strconv.ParseInt(get("deliveries"), 10, 64); err == nil && n > 0 && n < maxDeliveries {
		c.deliveries = int(n)
	}
	c.taskID = taskOf(map[string][]string{fleet.HeaderTaskID: {firstText(fleet.HeaderValue(headers, fleet.HeaderTaskID), get("taskID"))}}, body, c.msgID)
	return c
}

// gather adds the texts and numbers of a JSON object by their plain names; what is known already stays.
func gather(into map[string]string, object []byte, deeper bool) {
	if object = bytes.TrimSpace(object); len(object) == 0 || object[0] != '{' {
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return
	}
	plain := make(map[string]json.RawMessage, len(fields))
	for name, value := range fields {
		plain[plainName(name)] = value
		if text := scalar(value); text != "" && into[plainName(name)] == "" {
			into[plainName(name)] = text
		}
	}
	if !deeper {
		return
	}
	for _, name := range nested {
		gather(into, plain[name], false)
	}
}

func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// scalar is a text or a number as text; empty for anything else.
func scalar(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.TrimSpace(text)
	}
	var number json.Number
	if json.Unmarshal(value, &number) == nil {
		return number.String()
	}
	return ""
}
