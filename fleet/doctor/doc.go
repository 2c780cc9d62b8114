// Package doctor reads the configuration of a broker and names each trap in it (SPEC 8): what it is, what it means for the fleet, and the
// command that mends it. It looks, and changes nothing. The checks are pure functions of one look; what they rest on was measured on real brokers.
package doctor
