// Package collectors reads the capture streams of the broker and hands what they say to the lifecycle store. It holds what all
// sources share: the pull runner ([Collector]), the shape of a captured line ([Line]), the resolution of stream names to
// incarnations ([IncarnationResolver], [Streams]) and the [PublishBarrier] that keeps lines about messages behind the lines that stored them.
//
// Each source is a package of its own with a pure decoder. The order of work is always the same: read, decode, commit, then
// acknowledge. A line may therefore be decoded twice, never lost; events have ids derived from the line's own place, so that the
// second time changes nothing.
package collectors
