// Package worker takes jobs from dqd and hands them to a function, over go-redis.
//
// Run does what every worker needs: it pops as many jobs as there is room for,
// keeps their leases, settles them by what the handler returns, goes on when the
// server was away, and gives back what it could not finish when it is stopped.
//
//	err := worker.Run(ctx, worker.Options{
//		Redis:       &redis.Options{Addr: "127.0.0.1:7711"},
//		Queues:      []worker.Queue{{Name: "orders"}},
//		Concurrency: 8,
//		Handle: func(ctx context.Context, job *worker.Job) error {
//			return cancelOrder(ctx, job.ID, job.Token)
//		},
//	})
//
// # What a handler returns
//
//	nil                  the job is done: DQACK
//	an error             it failed: DQNACK, and it comes back after the queue's BACKOFF,
//	                     or is dead when its attempts are used up
//	Retry(err, after)    it failed, and comes back after this time
//	Skip(after)          it was not tried: it comes back after this time, and the
//	                     attempt does not count
//	Dead(err)            no attempt will ever succeed: the job is dead and kept
//	a panic              an error with the panic's text; the stack is logged
//
// Retry, Skip and Dead are found in wrapped errors too. The error's text, up to
// 1 KiB, becomes the job's reason, which DQGET and DQDEAD show.
//
// # At least once, and the fence
//
// A job may be handled more than once: when a worker dies or loses the server,
// when its ack is lost, when a handler is slower than its lease can be kept. So
// handling a job twice must be as good as handling it once.
//
// The lease of a job is extended at half its time for as long as its handler
// runs. When it is lost (the server refuses the token, or no extension got
// through before the lease ended) the handler's context is cancelled with
// ErrLeaseLost as its cause. But nothing can stop a handler that does not look,
// or whose process stands still, while another worker has the job. Job.Token is
// the fence against that: it only grows for a queue and id. Hand it to your
// database together with the write, and let that refuse a token lower than the
// highest it has seen for this id.
//
// The end of a lease is known as well as a client can know it: it is counted from
// the moment the job was received, or an extension was sent, on this machine's
// clock, which does not count the time for which the machine was suspended. The
// token is exact.
//
// What the handler returns is sent to the server also when the lease was lost: an
// ack whose lease is over still counts if nobody took the job since, and changes
// nothing if somebody did.
//
// A lease cannot be extended beyond the queue's lease-max (12 h). That is also
// what ends the lease of a handler that hangs for ever; give your own work a time
// with context.WithTimeout. A handler that hangs keeps its place: there are never
// more than Options.Concurrency handlers.
//
// # Stopping
//
// When Run's context ends nothing more is taken; a job that was on its way is given
// back. Handlers go on for Options.Grace. Then their contexts are cancelled with
// ErrStopped as the cause; one that now returns an error which is that
// cancellation (errors.Is(err, context.Canceled)) gives its job back, and the
// attempt does not count. One that does not return within a second loses its job:
// it is given back at once instead of at its lease's end, the attempt counts, and
// Run's error says so.
//
// # Errors of the server
//
// While the server is away, loads, has no leader or refuses for want of resources,
// Run tries again, after 100 ms to 5 s. An ack or nack is tried for one lease
// time. What no repetition mends, such as a wrong password or a queue name that is
// too long, ends Run with that error.
//
// go-redis's own retries are switched off on Run's connections, because a pop that
// is sent again takes other jobs; acks and nacks are sent again by Run, which
// knows what their second answer means.
package worker
