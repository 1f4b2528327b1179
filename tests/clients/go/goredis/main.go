// Go-redis with its default options.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"

	"dqd/tests/clients/go/steps"
)

func main() {
	steps.Version("github.com/redis/go-redis/v9")
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Getenv("DQD_PORT")})
	defer rdb.Close()

	steps.Do("connect", func() (any, error) { return rdb.Ping(ctx).Result() })
	steps.Do("add", func() (any, error) { return rdb.Do(ctx, "DQADD", "orders", "order-42", `{"total":99}`).Result() })
	var token any
	steps.Do("pop", func() (any, error) {
		job, err := pop(rdb.Do(ctx, "DQPOP", "orders"))
		if err != nil {
			return nil, err
		}
		token = job[3]
		return fmt.Sprintf("%v %v %v attempt %v", job[0], job[1], job[2], job[4]), nil
	})
	steps.Do("ack", func() (any, error) { return rdb.Do(ctx, "DQACK", "orders", "order-42", token).Result() })
	steps.Do("null", func() (any, error) {
		return null(rdb.Do(ctx, "DQPOP", "orders")) + " " + null(rdb.Do(ctx, "DQGET", "orders", "none")), nil
	})
	steps.Do("error", func() (any, error) {
		return steps.Code(rdb.Do(ctx, "DQADD", "orders", "a", "x", "DELAY", "1.5").Err()), nil
	})
	steps.Do("map", func() (any, error) {
		stats, err := rdb.Do(ctx, "DQSTATS", "orders").Result()
		if err != nil {
			return nil, err
		}
		return stats.(map[any]any)["added"], nil // RESP3, which is the default
	})
	steps.Do("block", func() (any, error) {
		if err := rdb.Do(ctx, "DQADD", "orders", "soon", "x", "DELAY", "200ms").Err(); err != nil {
			return nil, err
		}
		job, err := pop(rdb.Do(ctx, "DQPOP", "orders", "BLOCK", "4s"))
		if err != nil {
			return nil, err
		}
		return job[1], nil
	})
	steps.Do("binary", func() (any, error) {
		if err := rdb.Do(ctx, "DQADD", "big", "a", steps.EveryByte()).Err(); err != nil {
			return nil, err
		}
		job, err := pop(rdb.Do(ctx, "DQPOP", "big"))
		if err != nil {
			return nil, err
		}
		return steps.Compare(job[2].(string)), nil
	})
	steps.Do("pipeline", func() (any, error) {
		adds, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range 10_000 {
				p.Do(ctx, "DQADD", "bulk", fmt.Sprintf("job-%d", i), i, "DELAY", "1h")
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		right := 0
		for i, add := range adds {
			if add.(*redis.Cmd).Val() == fmt.Sprintf("job-%d", i) {
				right++
			}
		}
		there, err := rdb.Do(ctx, "DQLEN", "bulk").Int()
		return fmt.Sprintf("%d in order, %d there", right, there), err
	})
	steps.Restart()
	steps.Do("restart", func() (any, error) {
		there, err := rdb.Do(ctx, "DQLEN", "bulk").Int()
		return fmt.Sprintf("%d there", there), err
	})
	other := func(password string) *redis.Cmd {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Getenv("DQD_AUTH_PORT"), Password: password})
		defer rdb.Close()
		return rdb.Do(ctx, "DQLEN", "q")
	}
	steps.Do("noauth", func() (any, error) { return steps.Code(other("").Err()), nil })
	steps.Do("auth", func() (any, error) { return other(os.Getenv("DQD_PASSWORD")).Result() })
	steps.Do("multi", func() (any, error) {
		replies, err := rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
			tx.Do(ctx, "DQADD", "tx", "one", "1")
			tx.Do(ctx, "DQADD", "tx", "two", "2")
			tx.Do(ctx, "DQLEN", "tx")
			return nil
		})
		if err != nil {
			return nil, err
		}
		val := func(i int) any { return replies[i].(*redis.Cmd).Val() }
		return fmt.Sprint(val(0), " ", val(1), " ", val(2)), nil
	})
	steps.Do("abort", func() (any, error) {
		_, aborted := rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
			tx.Do(ctx, "DQADD", "tx", "three", "3")
			tx.Do(ctx, "DQADD", "tx", "one", "1")
			return nil
		})
		there, err := rdb.Do(ctx, "DQLEN", "tx").Int()
		return fmt.Sprintf("%s, %d there", steps.Code(aborted), there), err
	})
}

// pop returns the first job of a DQPOP.
func pop(cmd *redis.Cmd) ([]any, error) {
	jobs, err := cmd.Slice()
	if err != nil {
		return nil, err
	}
	return jobs[0].([]any), nil
}

func null(cmd *redis.Cmd) string {
	if errors.Is(cmd.Err(), redis.Nil) {
		return "null"
	}
	return cmd.String()
}
