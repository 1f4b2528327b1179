package shard_test

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"dqd/persist"
	"dqd/server/resp"
	"dqd/server/shard"
	"dqd/server/shard/evaluate"
	"dqd/server/shard/shardtest"
	"dqd/tsc"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, err := persist.OpenState("state", persist.StateOptions{FS: persist.MemFS()})
		if err != nil {
			t.Fatal(err)
		}
		log := shardtest.NewLog(st)
		s := shard.New(shard.Options{Log: log, State: st, Clock: tsc.NewGo(), Logger: slog.Default(),
			Limits: evaluate.DefaultLimits(),
			Fatal:  func(err error) { panic(err) }})
		c := &shardtest.Client{}
		do := func(args ...string) {
			c.Do(s, args...)
			synctest.Wait()
			show(c)
		}
		do("DQADD", "q", "a", "hello", "DELAY", "1000us", "EXPIREAT", "1800003593000ms")
		time.Sleep(2*time.Second + 140)
		synctest.Wait()
		do("DQGET", "q", "a", "state", "token", "due-ns")
		do("DQPEEK", "q", "STATE", "delayed")
		do("DQADD", "q", "b", "hello", "DELAY", "1000us")
		time.Sleep(2*time.Second + 140)
		synctest.Wait()
		do("DQGET", "q", "b", "state", "token", "due-ns")
		s.Close()
		log.Close()
		st.Close()
	})
}

func show(c *shardtest.Client) {
	for _, r := range c.Replies() {
		w := &resp.Writer{RESP3: true}
		r.Reply.WriteReply(w)
		fmt.Printf("%q\n", w.Buf)
	}
}
