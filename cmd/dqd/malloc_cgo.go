//go:build cgo

package main

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
static void tune(void) {
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 64 << 10);
}
#else
static void tune(void) {}
#endif
*/
import "C"

// tuneMalloc keeps C's heap, where Pebble has its caches and memory tables, as small as
// what is in it. In arenas of threads freed blocks lie idle where others need some. Larger
// blocks, such as memory tables that come and go, are mapped by themselves and leave no
// holes; glibc would raise that threshold to 32 MiB. ARCHITECTURE.md has the figures. It
// must be called before other threads allocate.
func tuneMalloc() { C.tune() }
