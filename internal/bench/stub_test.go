//go:build linux

package bench

func beTheMemory([]byte) error { return nil }
func measurePages(b *bench)    {}
func measureStart(b *bench)    {}
func measureMemory(b *bench)   {}
