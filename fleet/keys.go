package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
)

// Key derives a deterministic key from parts, 32 hexadecimal digits. The parts are kept apart: ("ab", "c") and ("a", "bc") differ.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = h.Write(strconv.AppendInt(nil, int64(len(p)), 10))
		_, _ = h.Write([]byte{':'})
		_, _ = h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// StepKey is the idempotency key of one step with an effect: the same step of the same message with the same input has the same key,
// whoever runs it, however often. It errors when the input cannot be written as JSON.
func StepKey(session, messageID, stepID, tool string, input any) (string, error) {
	hash, err := CanonicalInputHash(input)
	if err != nil {
		return "", fmt.Errorf("step key: %w", err)
	}
	return Key("step", session, messageID, stepID, tool, hash), nil
}

// CompensationKey is the key of the action that undoes a step. It never comes from the step's output, so that it is known even when
// the step's outcome is not.
func CompensationKey(workflow, job, topic, capability string, stepIndex int) string {
	return Key("compensation", workflow, job, topic, capability, strconv.Itoa(stepIndex))
}

// CanonicalInputHash is the SHA-256 of the input as JSON with sorted member names and without white space, in hexadecimal. Numbers
// keep their digits: 1 and 1.0 differ. It errors when the input cannot be written as JSON.
func CanonicalInputHash(input any) (string, error) {
	b, err := json.Marshal(input)
	if err != nil {
		return "", fmt.Errorf("canonical input: %w", err)
	}
	var plain any
	if err := decodeNumbers(b, &plain); err != nil {
		return "", fmt.Errorf("canonical input: %w", err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(plain); err != nil {
		return "", fmt.Errorf("canonical input: %w", err)
	}
	return Fingerprint(bytes.TrimSpace(out.Bytes())), nil
}
