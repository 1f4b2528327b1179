// Package client has the sub-commands of dqd that are clients of a running server, over
// the Redis protocol like any other, and need no more than their users do.
package client
