package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"dqd/worker"
)

// A worker that cancels unpaid orders until the process is told to stop.
func ExampleRun() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	server := &redis.Options{Addr: addr()} // such as 127.0.0.1:7711
	add(server, "orders", "order-42", `{"total":99}`)

	err := worker.Run(ctx, worker.Options{
		Redis:       server,
		Queues:      []worker.Queue{{Name: "orders"}},
		Concurrency: 8,
		Handle: func(ctx context.Context, job *worker.Job) error {
			fmt.Printf("%s is not paid: %s\n", job.ID, job.Payload)
			stop() // here, so that the example ends
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// order-42 is not paid: {"total":99}
}

// What the handler returns decides what becomes of the job.
func ExampleOptions_handle() {
	ctx, stop := context.WithCancel(context.Background())
	server := &redis.Options{Addr: addr()}
	for _, id := range []string{"fine", "busy", "gone"} {
		add(server, "mail", id, "hello")
	}

	left := 3
	err := worker.Run(ctx, worker.Options{
		Redis:  server,
		Queues: []worker.Queue{{Name: "mail"}},
		Handle: func(ctx context.Context, job *worker.Job) error {
			if left--; left == 0 {
				stop()
			}
			switch job.ID {
			case "busy":
				return worker.Retry(errors.New("try later"), time.Hour)
			case "gone":
				return worker.Dead(errors.New("no such address"))
			}
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"fine", "busy", "gone"} {
		fmt.Println(id, get(server, "mail", id, "state", "reason"))
	}
	// Output:
	// fine []
	// busy [delayed try later]
	// gone [dead no such address]
}

// The token fences what a worker writes: a database that has seen a higher one for
// this job refuses.
func ExampleJob_token() {
	highest := map[string]int64{} // of a database, which does this in one transaction
	cancelOrder := func(id string, token int64) error {
		if token < highest[id] {
			return fmt.Errorf("%s: somebody else has taken over", id)
		}
		highest[id] = token
		return nil
	}
	fmt.Println(cancelOrder("order-42", 7))
	fmt.Println(cancelOrder("order-42", 9)) // its next lease, of another worker
	fmt.Println(cancelOrder("order-42", 7)) // the first one was only slow
	// Output:
	// <nil>
	// <nil>
	// order-42: somebody else has taken over
}

// Queues with weights, and metrics for Prometheus.
func ExampleMetrics() {
	ctx, stop := context.WithCancel(context.Background())
	server := &redis.Options{Addr: addr()}
	add(server, "reports", "monday", "")

	metrics := worker.NewMetrics()
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	err := worker.Run(ctx, worker.Options{
		Redis:   server,
		Queues:  []worker.Queue{{Name: "urgent", Weight: 9}, {Name: "reports"}},
		Metrics: metrics,
		Handle:  func(context.Context, *worker.Job) error { stop(); return nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	families, _ := registry.Gather()
	for _, f := range families {
		if f.GetName() == "dqd_worker_jobs_settled_total" {
			fmt.Println(f.Metric[0].Label[0].GetValue(), f.Metric[0].Label[1].GetValue(), f.Metric[0].Counter.GetValue())
		}
	}
	// Output:
	// reports acked 1
}
