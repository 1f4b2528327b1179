// Command ordertimeout is a small shop on dqd: an order that is not paid in
// time is cancelled.
//
//	go run ./cmd/dqd serve                     # in one terminal
//	go run ./examples/ordertimeout             # in another
//
// It plays three orders. The first is paid, which cancels its timer. The second
// is not paid; the worker that takes it crashes, and another takes it over. The
// third is not paid and is cancelled by a worker that is well.
//
// shop.go places and pays orders, worker.go cancels the unpaid ones: these two
// are what a real shop would have.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	log.SetFlags(0)
	slog.SetLogLoggerLevel(slog.LevelWarn)
	var (
		addr      = flag.String("addr", "127.0.0.1:7711", "address of dqd")
		password  = flag.String("password", os.Getenv("DQD_REQUIREPASS"), "its password")
		queue     = flag.String("queue", "ordertimeout", "queue of the orders that wait for payment")
		payWithin = flag.Duration("pay-within", 3*time.Second, "time to pay an order")
		lease     = flag.Duration("lease", 2*time.Second, "time that a worker has for an order before another takes over")
		alice     = flag.String("crash", "", "be the worker that crashes with the first order of this run")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server := &redis.Options{Addr: *addr, Password: *password}
	if *alice != "" {
		log.Fatal(crash(ctx, "alice", *alice, *queue, server))
	}

	// dqd speaks the Redis protocol: any Redis client will do.
	rdb := redis.NewClient(server)
	defer rdb.Close()
	shop := NewShop(rdb, *queue, *payWithin, *lease)
	if err := play(ctx, shop, server); err != nil {
		log.Fatal(explain(err))
	}
}

// explain says what to do about a password.
func explain(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "unauthenticated"): // the latter if a command has many arguments
		return fmt.Errorf("the server wants its password: give it in the environment as DQD_REQUIREPASS (%w)", err)
	case strings.Contains(text, "WRONGPASS"):
		return fmt.Errorf("the server refuses the password: DQD_REQUIREPASS is not the one that the server has (%w)", err)
	}
	return err
}

// play is the story of the three orders.
func play(ctx context.Context, shop *Shop, server *redis.Options) error {
	// No two runs have an order in common: the id of an order is never used
	// again, as everywhere else. Place says why that matters.
	run := "order-" + time.Now().Format("150405.000")
	first, second, third := run+"-1", run+"-2", run+"-3"
	for _, id := range []string{first, second, third} {
		if err := shop.Place(ctx, Order{ID: id, Total: 99}); err != nil {
			return err
		}
		fmt.Printf("%s placed, to be paid within %v\n", id, shop.payWithin)
	}

	paid, err := shop.Pay(ctx, first)
	if err != nil {
		return err
	}
	fmt.Printf("%s paid in time: %v\n", first, paid)

	// Alice takes the first order that comes due, and crashes. She is this program
	// once more, so that she really does.
	program, err := os.Executable()
	if err != nil {
		return err
	}
	alice := exec.CommandContext(ctx, program, append(os.Args[1:], "-crash", run)...)
	alice.Stdout, alice.Stderr = os.Stdout, os.Stderr
	var exit *exec.ExitError
	if err := alice.Run(); !errors.As(err, &exit) || exit.ExitCode() != crashed {
		return fmt.Errorf("alice: %w", err)
	}

	// Bob takes what comes due, and alice's order when her lease has run out.
	working, done := context.WithCancel(ctx)
	defer done()
	shop.onSettled = func() {
		if shop.Open() == 0 {
			done()
		}
	}
	if err := cancelUnpaid(working, "bob", shop, server); err != nil {
		return fmt.Errorf("bob: %w", err)
	}

	// Too late: the timer is gone, the order is cancelled.
	paid, err = shop.Pay(context.Background(), second)
	if err != nil {
		return err
	}
	fmt.Printf("%s paid in time: %v\n", second, paid)
	return nil
}
