// Package requestkey makes a call that is sent again under one Idempotency-Key happen once, and answers the repetition with the reply of the
// first (ARCHITECTURE, "HTTP idempotency").
//
// A key belongs to the token, the method and the path that it came with. It is reserved before anything happens, with a fingerprint of the
// request. The reply of a call that succeeded is kept for [Retention]. A call that failed changed nothing, so its key is free again. Where the
// process died in between, the reservation ends after a while and the call runs anew; what it decides is named by [ID], so that it is decided
// once all the same.
package requestkey
