package api

import (
	"mime"
	"strconv"
	"strings"
)

// prefers reports whether an Accept header prefers the media type to the alternative. A tie, and no header, goes to the alternative.
func prefers(accept, mediaType, alternative string) bool {
	return quality(accept, mediaType) > quality(accept, alternative)
}

// quality is the weight that an Accept header gives a media type (RFC 9110, 12.5.1): the most specific range that matches decides.
func quality(accept, mediaType string) float64 {
	if strings.TrimSpace(accept) == "" {
		return 1
	}
	best, specific := 0.0, -1
	for part := range strings.SplitSeq(accept, ",") {
		name, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil {
			continue
		}
		s := specificity(name, mediaType)
		if s < 0 || s <= specific {
			continue
		}
		best, specific = 1, s
		if q, ok := params["q"]; ok {
			if best, err = strconv.ParseFloat(q, 64); err != nil {
				best = 0
			}
		}
	}
	return best
}

// specificity is how exactly a media range names a type; negative when it does not.
func specificity(pattern, mediaType string) int {
	kind, _, _ := strings.Cut(mediaType, "/")
	switch pattern {
	case mediaType:
		return 2
	case kind + "/*":
		return 1
	case "*/*":
		return 0
	}
	return -1
}
