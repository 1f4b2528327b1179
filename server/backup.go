package server

import (
	"sync"
	"sync/atomic"
	"time"

	"dqd/commands"
)

// Backup is a state that is handed out a piece after the other; more = false comes with
// the last one. It must be closed before the store is.
type Backup interface {
	Next() (piece []byte, more bool, err error)
	Close() error
}

// backupPatience is how long a backup waits for its client to ask for the next piece:
// the store grows meanwhile.
const backupPatience = time.Minute

const (
	errBackupBusy   = commands.Error("BUSY another connection has a backup at work: wait for its end. One that nobody goes on with ends after a minute")
	errBackupCursor = commands.Error("ERR this connection has no backup that goes on at this cursor: begin with DQBACKUP 0. A backup ends when nobody has asked for a minute")
	errNoBackups    = commands.Error("ERR this server cannot be backed up")
	errBackupFailed = commands.Error("ERR the backup failed, see the log of the server")
)

// backups has the backup that is at work: one at a time, which belongs to a connection.
type backups struct {
	begin atomic.Pointer[func() Backup] // nil = there are none
	last  atomic.Int64                  // when one was handed out whole, Unix s; 0 = never

	owner atomic.Pointer[conn] // nil = there is none at work; written with mu held

	mu     sync.Mutex // held while a piece is read, which takes as long as the disk does
	backup Backup
	cursor uint64      // of the next piece
	asked  time.Time   // when its last piece was asked for and read
	idle   *time.Timer // ends it
}

// Backups lets clients take backups, each of which begin makes.
func (s *Server) Backups(begin func() Backup) { s.backups.begin.Store(&begin) }

// backupPiece is DQBACKUP.
func (c *conn) backupPiece(r *commands.Backup) commands.Reply {
	b := &c.srv.backups
	b.mu.Lock()
	defer b.mu.Unlock()
	begin, owner := b.begin.Load(), b.owner.Load()
	switch {
	case begin == nil:
		return errNoBackups
	case r.Cursor == 0 && owner != nil && owner != c:
		return errBackupBusy
	case r.Cursor == 0:
		b.end()
		mine := (*begin)()
		b.owner.Store(c)
		b.backup, b.cursor, b.asked = mine, 0, time.Now()
		b.idle = time.AfterFunc(backupPatience, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			// It may have waited here for the lock, while the next piece was read.
			if b.backup == mine && time.Since(b.asked) >= backupPatience {
				b.end()
			}
		})
	case owner != c || r.Cursor != b.cursor:
		return errBackupCursor
	}
	piece, more, err := b.backup.Next()
	if err != nil {
		c.srv.opts.Log.Error("backup", "error", err)
		b.end()
		return errBackupFailed
	}
	b.asked = time.Now()
	b.idle.Reset(backupPatience)
	b.cursor++
	next := b.cursor
	if !more {
		next = 0
		b.last.Store(c.srv.opts.Wall() / 1e9)
		b.end()
	}
	return &commands.BackupPart{Cursor: next, Bytes: piece}
}

// leave ends the backup of a connection. Others do not wait for a piece that is read.
func (b *backups) leave(c *conn) {
	if b.owner.Load() != c {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owner.Load() == c {
		b.end()
	}
}

// end lets go of the backup that is at work, if there is one. Called with mu held.
func (b *backups) end() {
	if b.owner.Load() == nil {
		return
	}
	b.idle.Stop()
	b.backup.Close()
	b.owner.Store(nil)
	b.backup, b.idle = nil, nil
}
