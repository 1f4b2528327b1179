package dispatch

import (
	"maps"
	"slices"
)

// Holders knows over which connection leases were given, of those that shall run
// out when it ends. A lease that is over, however it ended, is forgotten: there are never
// more than live leases.
type Holders struct {
	leases  map[uint64]Held
	clients map[any]map[uint64]struct{} // the tokens of each
	ended   []uint64                    // tokens of connections that have ended
}

// Held is a lease and whom it was given to.
type Held struct {
	Client any // a pointer
	Queue  uint32
	ID     string
	Token  uint64
}

// NewHolders returns Holders without any.
func NewHolders() *Holders {
	return &Holders{leases: map[uint64]Held{}, clients: map[any]map[uint64]struct{}{}}
}

// Add tells of a new lease.
func (h *Holders) Add(l Held) {
	h.leases[l.Token] = l
	tokens := h.clients[l.Client]
	if tokens == nil {
		tokens = map[uint64]struct{}{}
		h.clients[l.Client] = tokens
	}
	tokens[l.Token] = struct{}{}
}

// Of returns the lease with a token, if it is known.
func (h *Holders) Of(token uint64) []Held {
	if l, ok := h.leases[token]; ok {
		return []Held{l}
	}
	return nil
}

// Drop forgets a lease: it is over.
func (h *Holders) Drop(token uint64) {
	l, ok := h.leases[token]
	if !ok {
		return
	}
	delete(h.leases, token)
	tokens := h.clients[l.Client]
	if delete(tokens, token); len(tokens) == 0 {
		delete(h.clients, l.Client)
	}
}

// Extended tells that a connection extended a lease. Whoever uses several may end
// the one that the lease was given over.
func (h *Holders) Extended(token uint64, client any) {
	if l, ok := h.leases[token]; ok && l.Client != client {
		h.Drop(token)
	}
}

// Gone tells that a connection has ended: its leases come out of Ended.
func (h *Holders) Gone(client any) {
	h.ended = append(h.ended, slices.Sorted(maps.Keys(h.clients[client]))...)
	delete(h.clients, client)
}

// Ended removes and returns the leases of connections that have ended, at most max
// of them.
func (h *Holders) Ended(max int) (leases []Held) {
	n := min(max, len(h.ended))
	for _, token := range h.ended[:n] {
		if l, ok := h.leases[token]; ok { // else it is over by now
			leases = append(leases, l)
			delete(h.leases, token)
		}
	}
	if h.ended = h.ended[n:]; len(h.ended) == 0 {
		h.ended = nil
	}
	return leases
}

// More reports whether Ended has more to return.
func (h *Holders) More() bool { return len(h.ended) > 0 }
