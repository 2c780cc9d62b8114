package fleet

import "strings"

// IsCopier reports whether the broker made a consumer of this name itself, to feed a mirror or a stream that has this one as its source: no worker's.
// A broker before nats-server 2.14 lists none of them.
func IsCopier(consumer string) bool {
	return strings.HasPrefix(consumer, "JS_MIRROR_") || strings.HasPrefix(consumer, "JS_SRC_")
}
