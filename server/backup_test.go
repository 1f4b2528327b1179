package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// fakeBackup has three pieces; the last one may fail.
type fakeBackup struct {
	pieces int
	err    error
	closed *int
}

func (b *fakeBackup) Next() ([]byte, bool, error) {
	if b.pieces++; b.pieces == 3 {
		return []byte("c"), false, b.err
	}
	return []byte("ab"), true, nil
}

func (b *fakeBackup) Close() error { *b.closed++; return nil }

// Every backup is let go of once, whatever ends it, before Shutdown returns.
func TestBackupsEnd(t *testing.T) {
	both(t, Options{Wall: func() int64 { return 1_800_000_000_000_000_000 }}, func(r *rig) {
		session(r, `
> DQBACKUP 0
-ERR this server cannot be backed up
`)
		begun, closed := 0, 0
		var fail error
		r.Backups(func() Backup { begun++; return &fakeBackup{err: fail, closed: &closed} })
		session(r, `
> DQBACKUP 0
*2
$1
1
$2
ab
> DQBACKUP 0
*2
$1
1
$2
ab
> DQBACKUP 1
*2
$1
2
$2
ab
> DQBACKUP 2
*2
$1
0
$1
c
`)
		if begun != 2 || closed != 2 || r.backups.last.Load() != 1_800_000_000 {
			t.Errorf("%d begun, %d closed, last %d", begun, closed, r.backups.last.Load())
		}
		fail = errors.New("block 7 is damaged")
		session(r, `
> DQBACKUP 0
*2
$1
1
$2
ab
> DQBACKUP 1
*2
$1
2
$2
ab
> DQBACKUP 2
-ERR the backup failed, see the log of the server
> DQBACKUP 2
-ERR this connection has no backup that goes on at this cursor: begin with DQBACKUP 0. A backup ends when nobody has asked for a minute
> DQBACKUP 0
*2
$1
1
$2
ab
`)
		if begun != 4 || !strings.Contains(r.logs.String(), "block 7 is damaged") {
			t.Errorf("%d begun; log: %s", begun, r.logs.String())
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := r.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if closed != 4 {
			t.Errorf("%d of %d closed", closed, begun)
		}
	})
}
