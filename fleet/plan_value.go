package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// readable is the value of a field as text; empty for what the broker treats as not set.
func readable(field string, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if !v {
			return ""
		}
	case string:
		return v
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			return v.String()
		}
		return readableNumber(field, n)
	case []any:
		if len(v) == 0 {
			return ""
		}
	case map[string]any:
		v = maps.Clone(v)
		maps.DeleteFunc(v, func(_ string, x any) bool { return readable("", x) == "" })
		if len(v) == 0 {
			return ""
		}
		return compact(v)
	}
	return compact(v)
}

func readableNumber(field string, n int64) string {
	switch {
	case n == 0, n == -1:
		return ""
	case strings.HasSuffix(field, "_age"), strings.HasSuffix(field, "_window"), strings.HasSuffix(field, "_ttl"):
		return time.Duration(n).String()
	case field == "max_bytes" && n%mib == 0:
		return strconv.FormatInt(n/mib, 10) + " MiB"
	}
	return strconv.FormatInt(n, 10)
}

func compact(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}

func orNone(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}
