//go:build linux

package bench

type history struct{}
func beTheMemory([]byte) error { return nil }
func measureHistory(b *bench) {}
func measureReads(b *bench) {}
func measurePages(b *bench) {}
func measureStart(b *bench) {}
func measureMemory(b *bench) {}
