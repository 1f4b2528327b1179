//go:build !cgo

package main

// tuneMalloc does nothing: without cgo, Pebble's caches are in Go's heap.
func tuneMalloc() {}
