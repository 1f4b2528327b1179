package persist

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// exitCode tells a supervisor that the disk failed (EX_SOFTWARE).
const exitCode = 70

// ExitOnFault is the default Fatal hook: it reports the error and ends the process.
func ExitOnFault(err error) {
	fmt.Fprintf(os.Stderr, "dqd: fatal storage error, the process ends: %v\n", err)
	os.Exit(exitCode)
}

// fault ends the process at the first failed write or sync. What a file holds
// after a failed fsync is unknown, so nothing is retried and nothing may be
// acknowledged any more. In production the hook does not return; if it does, in
// tests, the store refuses everything from then on.
type fault struct {
	dir    string // of the store
	hook   func(error)
	failed chan struct{} // closed by the first fault
	// returned is closed when the hook has returned, which in production it does not:
	// nobody goes on with a fault while the process ends.
	returned chan struct{}
	merges   merges
	paces    paces

	mu  sync.Mutex // guards err
	err error
}

func newFault(dir string, hook func(error)) *fault {
	if hook == nil {
		hook = ExitOnFault
	}
	return &fault{dir: dir, hook: hook, failed: make(chan struct{}), returned: make(chan struct{}), merges: merges{stop: make(chan struct{})}}
}

// close closes a store's database, which waits for its merges, without their pauses.
func (f *fault) close(db *pebble.DB) error {
	f.paces.db.Store(nil)
	f.paces.hurry()
	close(f.merges.stop)
	return db.Close()
}

// IfFull tells how to go on from an error that says that the disk of a folder is
// full. Other errors stay as they are.
func IfFull(dir string, err error) error {
	if !vfs.IsNoSpaceError(err) {
		return err
	}
	return fmt.Errorf("the disk of folder %s is full: make room, then start again: %w", dir, err)
}

// fail reports a fault and returns the first one.
func (f *fault) fail(err error) error {
	err = IfFull(f.dir, plain(err))
	f.mu.Lock()
	first := f.err == nil
	if first {
		f.err = err
		close(f.failed)
	}
	err = f.err
	f.mu.Unlock()
	if first {
		f.hook(err)
		close(f.returned)
	}
	<-f.returned
	return err
}

// check returns the first fault, if there was one.
func (f *fault) check() error {
	select {
	case <-f.failed:
		<-f.returned
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.err
	default:
		return nil
	}
}

// pebbleLogger turns Pebble's Fatalf, by which it reports failed writes of its
// WAL and manifest, into faults.
type pebbleLogger struct {
	name  string
	fault *fault
	log   *slog.Logger
}

func (l *pebbleLogger) Infof(format string, args ...any) {} // compactions and flushes; see Metrics

func (l *pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error("storage", "store", l.name, "message", plainText(fmt.Sprintf(format, args...)))
}

func (l *pebbleLogger) Fatalf(format string, args ...any) {
	err := fmt.Errorf("%s: %s", l.name, fmt.Sprintf(format, args...))
	for _, a := range args {
		if cause, ok := a.(error); ok && vfs.IsNoSpaceError(cause) {
			err = fmt.Errorf("%w: %w", err, syscall.ENOSPC) // what Pebble formats is text only
		}
	}
	l.fault.fail(err)
}

// listener ends the process on background errors too: Pebble would retry a flush
// for ever, and at once. On a full disk that is a loop in which the node hangs but
// seems to live. A merge of tables that finds no room is another matter: it leaves
// everything as it was, removes what it has written, and is tried again after a
// pause. Meanwhile acks and cancels can be logged.
func (l *pebbleLogger) listener() *pebble.EventListener {
	e := &pebble.EventListener{
		BackgroundError: func(err error) {
			if errors.As(err, new(noRoom)) {
				l.fault.merges.pause()
				l.log.Warn("no room on the disk to merge tables; it is tried again later", "in", mergePause, "store", l.name, "error", err)
				return
			}
			l.fault.fail(fmt.Errorf("%s: background error: %w", l.name, err))
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			l.fault.fail(fmt.Errorf("%s: %w file %s: %w", l.name, ErrDamaged, info.Path, info.Details))
		},
	}
	l.fault.paces.listen(e)
	return e
}
