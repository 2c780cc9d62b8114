package main

import "runtime/debug"

// heapTarget is the size in bytes that the heap is kept near. It is no limit: what needs more gets more, and the collector works harder
// for it.
const heapTarget = 184 << 20

// shareMemory lets the heap grow freely while it is small, which saves work, and collects more often as it nears the target. GOGC and
// GOMEMLIMIT, where they are set, count instead.
func shareMemory(env environment) {
	if _, set := env.lookup("GOMEMLIMIT"); set {
		return
	}
	if _, set := env.lookup("GOGC"); set {
		return
	}
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(heapTarget)
}
