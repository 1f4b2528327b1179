package tsc

// counter reads the time stamp counter.
func counter() uint64

// orderedCounter reads it in program order.
func orderedCounter() uint64

func cpuid(leaf uint32) (eax, edx uint32)

// invariant reports whether the counter runs at one rate in all power states:
// CPUID 8000_0007h, EDX bit 8.
func invariant() bool {
	const powerLeaf = 0x8000_0007
	if highest, _ := cpuid(0x8000_0000); highest < powerLeaf {
		return false
	}
	_, edx := cpuid(powerLeaf)
	return edx>>8&1 == 1
}
