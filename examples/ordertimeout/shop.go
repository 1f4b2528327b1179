package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Order is what a customer orders.
type Order struct {
	ID    string `json:"id"`
	Total int    `json:"total"`
}

// State is what became of an order.
type State string

const (
	Placed    State = "placed"
	Paid      State = "paid"
	Cancelled State = "cancelled"
)

// errUnknown says that an order is not in the books. Here that is one of an
// earlier run that was interrupted: the books end with the program, jobs do not.
var errUnknown = errors.New("no such order")

// Shop places, pays and cancels orders. Its own books, which would be a
// database, say what an order's state is; dqd says when it is time to look.
type Shop struct {
	rdb       *redis.Client
	queue     string
	payWithin time.Duration
	lease     time.Duration
	onSettled func() // called after each cancelled order

	mu     sync.Mutex // guards orders
	orders map[string]*record
}

// record is an order in the shop's books.
type record struct {
	Order
	state State
	// token is the newest token that somebody worked on this order with. A
	// worker that was slow, and whose lease has gone to another, comes with an
	// older one and is refused.
	token int64
}

// NewShop returns a shop whose orders are to be paid within a time.
func NewShop(rdb *redis.Client, queue string, payWithin, lease time.Duration) *Shop {
	return &Shop{rdb: rdb, queue: queue, payWithin: payWithin, lease: lease, onSettled: func() {}, orders: map[string]*record{}}
}

// Place enters an order and starts its timer.
func (s *Shop) Place(ctx context.Context, o Order) error {
	payload, err := json.Marshal(o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.orders[o.ID] = &record{Order: o, state: Placed}
	s.mu.Unlock()
	// IDEM: go-redis sends a command again when its connection breaks. For a
	// minute the same request under the same id is answered as the first time and
	// makes no second timer, even if the first has fired and is done with by now;
	// only a cancel, UPSERT or XX makes dqd forget it. So IDEM wants an id that is
	// used for one order only: another order of the same content under it would
	// be answered OK within that minute, and get no timer.
	err = s.rdb.Do(ctx, "DQADD", s.queue, o.ID, payload,
		"DELAY", ms(s.payWithin), "LEASE", ms(s.lease), "BACKOFF", "fixed:100ms", "IDEM").Err()
	if err != nil {
		return fmt.Errorf("start the timer of %s: %w", o.ID, err)
	}
	return nil
}

// ms is a duration for dqd, which reads a bare integer as milliseconds, rounded
// up. go-redis would write d itself as nanoseconds, and d.String() may have a
// fraction such as 1.5s, which dqd refuses.
func ms(d time.Duration) int64 {
	return (d + time.Millisecond - 1).Milliseconds()
}

// Pay pays an order, if it is not too late.
func (s *Shop) Pay(ctx context.Context, id string) (inTime bool, err error) {
	// The answer decides: 1 = the timer is gone and will never fire; else a
	// worker has it already (-3), or has finished with it (-2).
	codes, err := s.rdb.Do(ctx, "DQMCANCEL", s.queue, "IDS", 1, id).Int64Slice()
	if err != nil {
		return false, fmt.Errorf("cancel the timer of %s: %w", id, err)
	}
	if codes[0] != 1 {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders[id].state = Paid
	return true, nil
}

// Cancel cancels an unpaid order, for the worker that holds this token.
func (s *Shop) Cancel(id string, token int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.orders[id]
	if !ok {
		return errUnknown
	}
	if token < o.token {
		return fmt.Errorf("%s: token %d is older than %d: somebody else has taken over", id, token, o.token)
	}
	o.token = token
	if o.state == Placed {
		o.state = Cancelled
	}
	return nil
}

// Open counts the orders that are neither paid nor cancelled.
func (s *Shop) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, o := range s.orders {
		if o.state == Placed {
			n++
		}
	}
	return n
}
