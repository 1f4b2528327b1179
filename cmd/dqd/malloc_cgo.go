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
// what is in it: in arenas of threads freed blocks lie idle where others need some, and
// memory tables that come and go leave holes unless each is mapped by itself (which the threshold, once set, stays at). With ten
// million jobs waiting this is 150 MiB. It must be called before other threads allocate.
func tuneMalloc() { C.tune() }
