// Package acks reads OBS_ACK: what workers said about the messages they were given. A captured acknowledgement is a claim: bogus, late
// and repeated ones are captured too, and only the broker's own state confirms one.
package acks
