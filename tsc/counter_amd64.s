#include "textflag.h"

// func counter() uint64
//
// RDTSC, not fenced: it may be read some ten nanoseconds early or late, which is
// less than what the caller's next instruction takes.
TEXT ·counter(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func orderedCounter() uint64
//
// Fenced on both sides, for calibration: it is read after everything before it and
// before everything after.
TEXT ·orderedCounter(SB), NOSPLIT, $0-8
	LFENCE
	RDTSC
	LFENCE
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func cpuid(leaf uint32) (eax, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-16
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL DX, edx+12(FP)
	RET
