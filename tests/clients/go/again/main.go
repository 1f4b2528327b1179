// Again adds a job over a connection that breaks, and prints how that ends:
// again goredis|rueidis|redigo.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

func main() {
	ctx := context.Background()
	addr := "127.0.0.1:" + os.Getenv("DQD_PORT")
	var id any
	var err error
	switch os.Args[1] {
	case "goredis":
		id, err = goredis.NewClient(&goredis.Options{Addr: addr}).Do(ctx, "DQADD", "q", "once", "x").Result()
	case "rueidis":
		var c rueidis.Client
		if c, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}}); err == nil {
			id, err = c.Do(ctx, c.B().Arbitrary("DQADD").Keys("q").Args("once", "x").Build()).ToString()
		}
	case "redigo":
		var c redis.Conn
		if c, err = redis.Dial("tcp", addr); err == nil {
			id, err = redis.String(c.Do("DQADD", "q", "once", "x"))
		}
	}
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println("added:", id)
}
