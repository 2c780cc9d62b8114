package deadletters

import (
	"fmt"
	"strconv"
	"strings"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// claim is what an entry says of the message that died. What it does not say is zero.
type claim struct {
	stream, consumer, subject string
	seq                       uint64
	path, category, detail    string
	reason                    string // Untrusted, as all of it.
	deliveries                int
	failedAt                  lifecycle.Micros // Never later than the entry itself.
	taskID, msgID             string
}

// maxDeliveries bounds the delivery count that is believed.
const maxDeliveries = 1 << 31

// readClaim reads the headers of the contract where there are any; the body is then the original one, and none of our business. Another
// monitor's entry may say the same in a JSON body. The message id says the place of the message where nothing else does.
func readClaim(line collectors.Line) (claim, error) {
	var c claim
	var err error
	if hasHeaders(line.Headers) {
		c, err = fromHeaders(line.Headers, line.Body)
	} else {
		c = fromBody(line.Headers, line.Body)
	}
	if c.stream == "" || c.seq == 0 {
		c.stream, c.seq = placeInMsgID(fleet.HeaderValue(line.Headers, fleet.HeaderMsgID))
	}
	if c.failedAt > line.At {
		c.failedAt = line.At
	}
	return c, err
}

func hasHeaders(headers map[string][]string) bool {
	for name := range headers {
		if len(name) > len(fleet.HeaderDLQPrefix) && strings.EqualFold(name[:len(fleet.HeaderDLQPrefix)], fleet.HeaderDLQPrefix) {
			return true
		}
	}
	return false
}

// fromHeaders errors where a number is none: a place that cannot be read is not guessed.
func fromHeaders(headers map[string][]string, body []byte) (claim, error) {
	get := func(name string) string { return strings.TrimSpace(fleet.HeaderValue(headers, name)) }
	c := claim{
		stream: get(fleet.HeaderDLQStream), consumer: get(fleet.HeaderDLQConsumer), subject: get(fleet.HeaderDLQSubject), path: get(fleet.HeaderDLQPath),
		category: get(fleet.HeaderDLQCategory), detail: get(fleet.HeaderDLQDetail), reason: get(fleet.HeaderDLQReason),
		failedAt: fleet.ParseInstant(get(fleet.HeaderDLQFailedAt)), msgID: get(fleet.HeaderDLQMsgID),
	}
	c.taskID = taskOf(headers, body, c.msgID)
	if n, err := strconv.ParseInt(get(fleet.HeaderDLQDeliveries), 10, 64); err == nil && n > 0 && n < maxDeliveries {
		c.deliveries = int(n)
	}
	if text := get(fleet.HeaderDLQSeq); text != "" {
		seq, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return c, fmt.Errorf("read %s: %w", fleet.HeaderDLQSeq, err)
		}
		c.seq = seq
	}
	return c, nil
}

// taskOf is the task that the original message names; empty where it names none. msgID stands in the place of the entry's own message id.
func taskOf(headers map[string][]string, body []byte, msgID string) string {
	original := make(map[string][]string, len(headers))
	for name, values := range headers {
		if !strings.EqualFold(name, fleet.HeaderMsgID) {
			original[name] = values
		}
	}
	if msgID != "" {
		original[fleet.HeaderMsgID] = []string{msgID}
	}
	nobody := lifecycle.MessageKey{}
	if id := fleet.ReadTask(original, body, nobody).ID; id != nobody.String() {
		return id
	}
	return ""
}

// placeInMsgID reads dlq:<stream>:<seq>.
func placeInMsgID(id string) (stream string, seq uint64) {
	rest, ok := strings.CutPrefix(id, "dlq:")
	if !ok {
		return "", 0
	}
	key, err := lifecycle.ParseMessageKey(rest)
	if err != nil {
		return "", 0
	}
	return key.Stream.Name, key.Seq
}
