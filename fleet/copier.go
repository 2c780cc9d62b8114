package fleet

import (
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// IsCopier reports whether a consumer feeds a mirror, or a stream that has this one as its source: no worker's. The broker makes such a consumer itself
// ([IsCopierName]), or somebody made a durable one for it (nats-server 2.15): what that one delivers is acknowledged by the answers to its flow control.
func IsCopier(c *jetstream.ConsumerInfo) bool {
	return IsCopierName(c.Name) || c.Config.AckPolicy == jetstream.AckFlowControlPolicy
}

// IsCopierName reports whether the broker made a consumer of this name itself, to feed a mirror or a stream that has this one as its source. A broker before
// nats-server 2.14 lists none of them.
func IsCopierName(consumer string) bool {
	return strings.HasPrefix(consumer, "JS_MIRROR_") || strings.HasPrefix(consumer, "JS_SRC_")
}
