package server

import (
	"errors"
	"net"
	"slices"
)

// OnlyLoopback reports whether what is bound there is reached over loopback alone.
func OnlyLoopback(address string) bool {
	ip := net.ParseIP(address)
	return address == "localhost" || ip != nil && ip.IsLoopback()
}

// OverLoopback reports whether what is bound there is reached over loopback, if not alone.
func OverLoopback(address string) bool {
	ip := net.ParseIP(address)
	return OnlyLoopback(address) || address == "*" || ip != nil && ip.IsUnspecified()
}

// Protected reports whether options that still have their password let only connections
// over loopback be served.
func (o *Options) Protected() bool { return o.Password == "" && !o.Unprotected }

// ServesSomebody refuses options by which none of the addresses in Bind, if there are
// some, serves a client. What to do about it depends on who asks, and is not in the error.
func (o *Options) ServesSomebody() error {
	if len(o.Bind) == 0 || !o.Protected() || slices.ContainsFunc(o.Bind, OverLoopback) {
		return nil
	}
	return errors.New("nobody would be served: without a password only connections over loopback are, and it is not bound")
}
