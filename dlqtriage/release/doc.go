// Package release hands messages in flight back to the broker, where somebody decided so. The broker knows only one way to give a message out before its deadline: the
// negative acknowledgement of the attempt that has it. So that is sent, in the worker's place, with a header that names the action: whoever reads the captured line
// can tell it from the worker's own.
//
// A second one could take the message from the following attempt. Before a release is sent it is looked up whether this one was captured already, and whether the attempt
// can still be the current one.
package release
