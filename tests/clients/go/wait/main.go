// Wait waits for a job for up to 25 s and prints how that ends: wait goredis|rueidis,
// with the client's default options, or with those for a worker if -worker follows.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

func main() {
	ctx := context.Background()
	addr := "127.0.0.1:" + os.Getenv("DQD_PORT")
	worker := len(os.Args) > 2
	var jobs any
	var err error
	switch os.Args[1] {
	case "goredis":
		o := &redis.Options{Addr: addr}
		if worker {
			o.ReadTimeout, o.MaxRetries = -1, -1 // none
		}
		jobs, err = redis.NewClient(o).Do(ctx, "DQPOP", "q", "BLOCK", "25s").Result()
	case "rueidis":
		var c rueidis.Client
		if c, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}}); err != nil {
			break
		}
		pop := c.B().Arbitrary("DQPOP").Keys("q").Args("BLOCK", "25s")
		if worker {
			jobs, err = c.Do(ctx, pop.Blocking()).ToAny()
		} else {
			jobs, err = c.Do(ctx, pop.Build()).ToAny()
		}
	}
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println("popped:", jobs.([]any)[0].([]any)[1])
}
