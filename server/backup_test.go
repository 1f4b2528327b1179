package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dqd/commands"
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
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if closed != 4 {
			t.Errorf("%d of %d closed", closed, begun)
		}
	})
}

// slowBackup takes a while for each piece.
type slowBackup struct {
	fakeBackup
	takes time.Duration
}

func (b *slowBackup) Next() ([]byte, bool, error) {
	time.Sleep(b.takes)
	return b.fakeBackup.Next()
}

// A backup ends when nobody asks for a minute, not when a piece takes as long.
func TestBackupPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := 0
		s := &Server{}
		s.Backups(func() Backup { return &slowBackup{fakeBackup{closed: &closed}, backupPatience} })
		c := &conn{srv: s}
		ask := func(cursor uint64) commands.Reply { return c.backupPiece(&commands.Backup{Cursor: cursor}) }
		for cursor := range uint64(2) {
			// The timer fires at the moment at which the piece is there.
			if part, ok := ask(cursor).(*commands.BackupPart); !ok || part.Cursor != cursor+1 {
				t.Fatalf("at cursor %d: %v", cursor, part)
			}
			synctest.Wait()
			if s.backups.owner.Load() == nil {
				t.Fatal("a backup whose client has just asked is ended")
			}
		}
		time.Sleep(backupPatience)
		synctest.Wait()
		if got := ask(2); closed != 1 || got != commands.Reply(errBackupCursor) {
			t.Errorf("%d closed, %v", closed, got)
		}
	})
}

// While a disk stalls, other connections end.
func TestLeaveDuringABackup(t *testing.T) {
	var b backups
	b.owner.Store(&conn{})
	b.mu.Lock() // a piece is read
	left := make(chan struct{})
	go func() { b.leave(&conn{}); close(left) }()
	select {
	case <-left:
	case <-time.After(patience):
		t.Error("a connection waits for the backup of another")
	}
	b.mu.Unlock()
}
