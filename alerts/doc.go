// Package alerts says what needs attention in the fleet, and keeps a board of it (SPEC 6).
//
// [Find] is the one set of rules: it turns [Facts] into findings. Pages, banners, badges, metrics and the board all draw these findings. A
// finding that lasts as long as its rule asks becomes an alert: [Step] moves the board from one look to the next. Both are pure. The
// [Evaluator] runs them, the [Service] does what people ask, and package alerts/delivery tells receivers.
package alerts
