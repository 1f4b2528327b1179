// Rueidis with its default options, which ask for RESP3 and client tracking.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/redis/rueidis"

	"dqd/tests/clients/go/steps"
)

var ctx = context.Background()

func main() {
	steps.Version("github.com/redis/rueidis")
	c, err := dial("DQD_PORT", "")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer c.Close()
	// The queue is the key, as for a cluster.
	command := func(name, queue string, args ...string) rueidis.Completed {
		return c.B().Arbitrary(name).Keys(queue).Args(args...).Build()
	}
	dq := func(name, queue string, args ...string) rueidis.RedisResult {
		return c.Do(ctx, command(name, queue, args...))
	}

	steps.Do("connect", func() (any, error) { return c.Do(ctx, c.B().Ping().Build()).ToString() })
	steps.Do("add", func() (any, error) { return dq("DQADD", "orders", "order-42", `{"total":99}`).ToString() })
	var token int64
	steps.Do("pop", func() (any, error) {
		job, err := pop(dq("DQPOP", "orders"))
		if err != nil {
			return nil, err
		}
		token = job[3].(int64)
		return fmt.Sprintf("%v %v %v attempt %v", job[0], job[1], job[2], job[4]), nil
	})
	steps.Do("ack", func() (any, error) {
		return dq("DQACK", "orders", "order-42", strconv.FormatInt(token, 10)).ToInt64()
	})
	steps.Do("null", func() (any, error) {
		return null(dq("DQPOP", "orders")) + " " + null(dq("DQGET", "orders", "none")), nil
	})
	steps.Do("error", func() (any, error) {
		return steps.Code(dq("DQADD", "orders", "a", "x", "DELAY", "1.5").Error()), nil
	})
	steps.Do("map", func() (any, error) {
		stats, err := dq("DQSTATS", "orders").ToMap()
		if err != nil {
			return nil, err
		}
		added := stats["added"]
		return added.ToInt64()
	})
	steps.Do("block", func() (any, error) {
		if err := dq("DQADD", "orders", "soon", "x", "DELAY", "200ms").Error(); err != nil {
			return nil, err
		}
		// Blocking takes a connection of its own, without a read time-out.
		job, err := pop(c.Do(ctx, c.B().Arbitrary("DQPOP").Keys("orders").Args("BLOCK", "4s").Blocking()))
		if err != nil {
			return nil, err
		}
		return job[1], nil
	})
	steps.Do("binary", func() (any, error) {
		if err := dq("DQADD", "big", "a", steps.EveryByte()).Error(); err != nil {
			return nil, err
		}
		job, err := pop(dq("DQPOP", "big"))
		if err != nil {
			return nil, err
		}
		return steps.Compare(job[2].(string)), nil
	})
	steps.Do("pipeline", func() (any, error) {
		adds := make([]rueidis.Completed, 10_000)
		for i := range adds {
			adds[i] = command("DQADD", "bulk", fmt.Sprintf("job-%d", i), strconv.Itoa(i), "DELAY", "1h")
		}
		right := 0
		for i, reply := range c.DoMulti(ctx, adds...) {
			if id, err := reply.ToString(); err != nil {
				return nil, err
			} else if id == fmt.Sprintf("job-%d", i) {
				right++
			}
		}
		there, err := dq("DQLEN", "bulk").ToInt64()
		return fmt.Sprintf("%d in order, %d there", right, there), err
	})
	// transaction returns what EXEC answers.
	transaction := func(commands ...rueidis.Completed) (reply rueidis.RedisResult) {
		c.Dedicated(func(d rueidis.DedicatedClient) error {
			all := append([]rueidis.Completed{c.B().Multi().Build()}, commands...)
			replies := d.DoMulti(ctx, append(all, c.B().Exec().Build())...)
			reply = replies[len(replies)-1]
			return nil
		})
		return reply
	}
	steps.Do("multi", func() (any, error) {
		replies, err := transaction(command("DQADD", "tx", "one", "1"), command("DQADD", "tx", "two", "2"), command("DQLEN", "tx")).ToAny()
		if err != nil {
			return nil, err
		}
		return fmt.Sprintf("%v %v %v", replies.([]any)...), nil
	})
	steps.Do("abort", func() (any, error) {
		aborted := transaction(command("DQADD", "tx", "three", "3"), command("DQADD", "tx", "one", "1")).Error()
		there, err := dq("DQLEN", "tx").ToInt64()
		return fmt.Sprintf("%s, %d there", steps.Code(aborted), there), err
	})
	steps.Restart()
	steps.Do("restart", func() (any, error) {
		// Only what is marked so is sent again by itself when a connection broke.
		there, err := c.Do(ctx, c.B().Arbitrary("DQLEN").Keys("bulk").ReadOnly()).ToInt64()
		return fmt.Sprintf("%d there", there), err
	})
	steps.Do("noauth", func() (any, error) {
		_, err := dial("DQD_AUTH_PORT", "")
		return steps.Code(err), nil
	})
	steps.Do("auth", func() (any, error) {
		c, err := dial("DQD_AUTH_PORT", os.Getenv("DQD_PASSWORD"))
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return c.Do(ctx, c.B().Arbitrary("DQLEN").Keys("q").Build()).ToInt64()
	})
}

func dial(port, password string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:" + os.Getenv(port)}, Password: password})
}

// pop returns the first job of a DQPOP.
func pop(reply rueidis.RedisResult) ([]any, error) {
	jobs, err := reply.ToAny()
	if err != nil {
		return nil, err
	}
	return jobs.([]any)[0].([]any), nil
}

func null(reply rueidis.RedisResult) string {
	if rueidis.IsRedisNil(reply.Error()) {
		return "null"
	}
	return fmt.Sprint(reply)
}
