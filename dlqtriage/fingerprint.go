package dlqtriage

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
)

// NoReason is the fingerprint of an entry of which nobody said why it died.
const NoReason = "(no reason given)"

// maxFingerprint is how many runes of a fingerprint are shown; a hash stands for the part that is cut off.
const maxFingerprint = 160

// varying are the parts of a reason that differ between entries of one cause, in the order in which they are taken out, and what stands in
// their place.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`"[^"]*"|'[^']*'|` + "`[^`]*`"), "<text>"},
	{regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://\S+`), "<address>"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?)?`), "<time>"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<id>"},
	{regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`), "<host>"},
	{regexp.MustCompile(`\b(?:[a-z]+[-_])+[0-9a-f]*\d[0-9a-z_-]*\b`), "<id>"},
	{regexp.MustCompile(`\s+`), " "},
}

// numbers are numbers, and ids of hexadecimal digits: by chance such an id has no letter, so that both get the same mark.
var numbers = regexp.MustCompile(`\b0x[0-9a-f]+\b|\d+(?:[.,_]\d+)+|\b[0-9a-f]{6,}\b|\d+`)

// withoutNumber puts a mark in the place of a number. A word such as "facade" stays, although it has the form of an id.
func withoutNumber(found string) string {
	if strings.ContainsAny(found, "0123456789") {
		return "#"
	}
	return found
}

// Fingerprint is a reason without what differs between entries of one cause: numbers, ids, times, addresses and quoted texts. It is never
// empty, is short enough for an address, and reads as text. Different long reasons have different fingerprints.
func Fingerprint(reason string) string {
	text := strings.ToLower(strings.TrimSpace(reason))
	if text == "" {
		return NoReason
	}
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.instead)
	}
	text = numbers.ReplaceAllStringFunc(text, withoutNumber)
	runes := []rune(text)
	if len(runes) <= maxFingerprint {
		return text
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return fmt.Sprintf("%s… %08x", string(runes[:maxFingerprint]), h.Sum32())
}
