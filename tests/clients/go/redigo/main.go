// Redigo: one connection.
package main

import (
	"fmt"
	"os"

	"github.com/gomodule/redigo/redis"

	"dqd/tests/clients/go/steps"
)

func main() {
	steps.Version("github.com/gomodule/redigo")
	c := dial("DQD_PORT")
	steps.Do("connect", func() (any, error) { return c.Do("PING") })
	steps.Do("add", func() (any, error) { return redis.String(c.Do("DQADD", "orders", "order-42", `{"total":99}`)) })
	var token int64
	steps.Do("pop", func() (any, error) {
		job, err := pop(c.Do("DQPOP", "orders"))
		if err != nil {
			return nil, err
		}
		token = job[3].(int64)
		return fmt.Sprintf("%s %s %s attempt %d", job[0], job[1], job[2], job[4]), nil
	})
	steps.Do("ack", func() (any, error) { return c.Do("DQACK", "orders", "order-42", token) })
	steps.Do("null", func() (any, error) {
		return null(c.Do("DQPOP", "orders")) + " " + null(c.Do("DQGET", "orders", "none")), nil
	})
	steps.Do("error", func() (any, error) {
		_, err := c.Do("DQADD", "orders", "a", "x", "DELAY", "1.5")
		return steps.Code(err), nil
	})
	steps.Do("map", func() (any, error) {
		pairs, err := redis.Values(c.Do("DQSTATS", "orders"))
		for i := 0; i+1 < len(pairs); i += 2 {
			if string(pairs[i].([]byte)) == "added" {
				return pairs[i+1], nil
			}
		}
		return nil, err
	})
	steps.Do("block", func() (any, error) {
		if _, err := c.Do("DQADD", "orders", "soon", "x", "DELAY", "200ms"); err != nil {
			return nil, err
		}
		job, err := pop(c.Do("DQPOP", "orders", "BLOCK", "4s"))
		if err != nil {
			return nil, err
		}
		return string(job[1].([]byte)), nil
	})
	steps.Do("binary", func() (any, error) {
		if _, err := c.Do("DQADD", "big", "a", steps.EveryByte()); err != nil {
			return nil, err
		}
		job, err := pop(c.Do("DQPOP", "big"))
		if err != nil {
			return nil, err
		}
		return steps.Compare(string(job[2].([]byte))), nil
	})
	steps.Do("pipeline", func() (any, error) {
		for i := range 10_000 {
			c.Send("DQADD", "bulk", fmt.Sprintf("job-%d", i), i, "DELAY", "1h")
		}
		c.Flush()
		right := 0
		for i := range 10_000 {
			if id, err := redis.String(c.Receive()); err != nil {
				return nil, err
			} else if id == fmt.Sprintf("job-%d", i) {
				right++
			}
		}
		there, err := redis.Int(c.Do("DQLEN", "bulk"))
		return fmt.Sprintf("%d in order, %d there", right, there), err
	})
	steps.Restart()
	c.Close()
	c = dial("DQD_PORT") // a connection that broke stays broken
	steps.Do("restart", func() (any, error) {
		there, err := redis.Int(c.Do("DQLEN", "bulk"))
		return fmt.Sprintf("%d there", there), err
	})
	steps.Do("noauth", func() (any, error) {
		_, err := dial("DQD_AUTH_PORT").Do("DQLEN", "q")
		return steps.Code(err), nil
	})
	steps.Do("auth", func() (any, error) {
		return dial("DQD_AUTH_PORT", redis.DialPassword(os.Getenv("DQD_PASSWORD"))).Do("DQLEN", "q")
	})
	steps.Do("multi", func() (any, error) {
		c.Send("MULTI")
		c.Send("DQADD", "tx", "one", "1")
		c.Send("DQADD", "tx", "two", "2")
		c.Send("DQLEN", "tx")
		replies, err := redis.Values(c.Do("EXEC"))
		if err != nil {
			return nil, err
		}
		return fmt.Sprintf("%s %s %d", replies...), nil
	})
	steps.Do("abort", func() (any, error) {
		c.Send("MULTI")
		c.Send("DQADD", "tx", "three", "3")
		c.Send("DQADD", "tx", "one", "1")
		_, aborted := c.Do("EXEC")
		there, err := redis.Int(c.Do("DQLEN", "tx"))
		return fmt.Sprintf("%s, %d there", steps.Code(aborted), there), err
	})
}

func dial(port string, options ...redis.DialOption) redis.Conn {
	c, err := redis.Dial("tcp", "127.0.0.1:"+os.Getenv(port), options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return c
}

// pop returns the first job of a DQPOP.
func pop(reply any, err error) ([]any, error) {
	jobs, err := redis.Values(reply, err)
	if err != nil {
		return nil, err
	}
	return redis.Values(jobs[0], nil)
}

func null(reply any, err error) string {
	if reply == nil && err == nil {
		return "null"
	}
	return fmt.Sprint(reply, err)
}
