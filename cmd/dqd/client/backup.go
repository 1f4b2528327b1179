package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"dqd/raftfsm/archive"
)

// partSuffix is what the name of a backup ends in until it is whole.
const partSuffix = ".part"

// Backup is the sub-command: it writes a backup of a running server into a new file,
// which has its name only when it is whole, durable and was read back.
func Backup(args []string, stdout, stderr io.Writer) int {
	var s server
	rest, err := parse(s.flags(), args, "backup FILE", 1, 0)
	if err != nil {
		return exit(err, stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	begun := time.Now()
	path, said := rest[0], stdout
	var sum archive.Summary
	if path == Standard {
		path, said = "standard output", stderr
		sum, err = stream(ctx, &s, stdout, stderr)
	} else {
		sum, err = backup(ctx, &s, path, stderr)
	}
	if err != nil {
		return exit(fmt.Errorf("no backup was made: %w", err), stderr)
	}
	fmt.Fprintf(said, "%s: %s, %s in %s\n", path, Describe(&sum), size(sum.Bytes), time.Since(begun).Round(time.Millisecond))
	return exitOK
}

// Standard is the name of standard input and output where a backup's file is asked for.
const Standard = "-"

// Describe says what a backup holds.
func Describe(s *archive.Summary) string {
	return fmt.Sprintf("%d live and %d dead jobs in %d queues as of %s", s.Live, s.Dead, s.Queues, time.Unix(0, s.Taken).UTC().Format(time.RFC3339))
}

func backup(ctx context.Context, s *server, path string, stderr io.Writer) (sum archive.Summary, err error) {
	if _, err := os.Lstat(path); err == nil {
		return sum, fmt.Errorf("%s is there already: choose a new name, nothing is overwritten", path)
	}
	c, down, err := s.download(ctx)
	if err != nil { // no file is touched before
		return sum, err
	}
	defer c.close()
	part := path + partSuffix
	f, err := createPart(part)
	if err != nil {
		return sum, unwritable(path, err)
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(part)
		}
	}()
	sum, err = take(down, f, stderr)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return sum, err
	}
	// What the disk has is what counts.
	if _, err = f.Seek(0, io.SeekStart); err != nil {
		return sum, err
	}
	again, err := archive.Verify(bufio.NewReaderSize(f, 1<<20))
	if err == nil && again != sum {
		err = fmt.Errorf("%s is not what was written", part)
	}
	if err != nil {
		return sum, err
	}
	if err = name(part, path); err != nil {
		return sum, err
	}
	return sum, syncFolder(filepath.Dir(path))
}

// stream writes a backup to standard output, which gets nothing else: if it is cut short,
// whoever restores or checks it sees that its end is missing.
func stream(ctx context.Context, s *server, stdout, stderr io.Writer) (sum archive.Summary, err error) {
	if _, _, ok := terminal(stdout); ok {
		return sum, errors.New("standard output is a terminal: send it into a file or a pipe, or name a file")
	}
	if leadsNowhere(stdout) {
		return sum, errors.New("standard output is closed, or " + os.DevNull + ": nobody would have the backup")
	}
	c, down, err := s.download(ctx)
	if err != nil {
		return sum, err
	}
	defer c.close()
	if sum, err = take(down, stdout, stderr); err != nil {
		return sum, fmt.Errorf("%w; what was written is of no use", err)
	}
	if f, ok := stdout.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return sum, f.Sync()
		}
	}
	return sum, nil
}

// leadsNowhere reports that what is written there is gone. Where the process was started with a
// closed standard output, Go has put the null device.
func leadsNowhere(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && nullErr == nil && os.SameFile(info, null)
}

// take verifies a backup while it writes it.
func take(down *download, w, stderr io.Writer) (archive.Summary, error) {
	show := newProgress(stderr)
	defer show.end()
	return archive.Verify(io.TeeReader(down, io.MultiWriter(w, show)))
}

// createPart makes the file of a backup that begins, and locks it. It takes the place of
// one that is left of a killed backup, but not of one that somebody writes.
func createPart(part string) (f *os.File, err error) {
	busy := fmt.Errorf("another dqd backup writes %s: wait for its end, or choose a new name", part)
	// What is left is removed, not written over: it may have a second name by now.
	old, err := os.OpenFile(part, os.O_RDWR, 0)
	switch {
	case err == nil:
		defer old.Close()
		if !owned(old, part) {
			return nil, busy
		}
		if err := os.Remove(part); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err = os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, busy
	}
	if err == nil && !owned(f, part) {
		f.Close()
		return nil, busy
	}
	return f, err
}

// unwritable says what to do about a file that cannot be made.
func unwritable(path string, err error) error {
	var at *fs.PathError
	dir := filepath.Dir(path)
	switch {
	case !errors.As(err, &at):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s: there is no folder %s: make it first, or choose another name", path, dir)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s: %w: choose a folder that this user may write to", path, at.Err)
	}
	return fmt.Errorf("%s: %w", path, at.Err)
}

// owned locks a file, and reports whether it was free and still has its name.
func owned(f *os.File, path string) bool {
	if lock(f) != nil {
		return false
	}
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, now)
}

// name gives a whole backup its name, unless there is a file of that name by now.
func name(part, path string) error {
	err := os.Link(part, path)
	if err == nil {
		return os.Remove(part)
	}
	// Some file systems know no links.
	if _, serr := os.Lstat(path); errors.Is(err, fs.ErrExist) || serr == nil {
		return fmt.Errorf("%s has appeared meanwhile: choose a new name, nothing is overwritten", path)
	}
	return os.Rename(part, path)
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// download reads a backup from the server, a part at a time.
type download struct {
	ctx    context.Context
	c      *conn
	cursor uint64
	begun  bool
	part   string // what of it was not read yet
}

// download begins a backup; the server may refuse it.
func (s *server) download(ctx context.Context) (*conn, *download, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	down := &download{ctx: ctx, c: c}
	if err := down.next(); err != nil {
		c.close()
		return nil, nil, err
	}
	return c, down, nil
}

func (d *download) Read(p []byte) (int, error) {
	if d.part == "" {
		if d.begun && d.cursor == 0 {
			return 0, io.EOF
		}
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.part)
	d.part = d.part[n:]
	return n, nil
}

func (d *download) next() error {
	reply, err := d.c.do(d.ctx, "DQBACKUP", strconv.FormatUint(d.cursor, 10))
	if err != nil {
		return err
	}
	pair, _ := reply.([]any)
	if len(pair) != 2 {
		return errNoDqd
	}
	cursor, _ := pair[0].(string)
	part, _ := pair[1].(string)
	if d.cursor, err = strconv.ParseUint(cursor, 10, 64); err != nil || part == "" {
		return errNoDqd
	}
	d.part, d.begun = part, true
	return nil
}

// progress shows on a terminal how much was written.
type progress struct {
	w     io.Writer // nil = it is no terminal
	begun time.Time
	shown time.Time
	bytes int64
}

func newProgress(w io.Writer) *progress {
	p := &progress{begun: time.Now()}
	if _, _, ok := terminal(w); ok {
		p.w = w
	}
	return p
}

func (p *progress) Write(b []byte) (int, error) {
	p.bytes += int64(len(b))
	if now := time.Now(); p.w != nil && now.Sub(p.shown) > 200*time.Millisecond {
		p.shown = now
		fmt.Fprintf(p.w, "\r\x1b[K%s, %s/s", size(p.bytes), size(int64(float64(p.bytes)/now.Sub(p.begun).Seconds())))
	}
	return len(b), nil
}

func (p *progress) end() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// size shows a number of bytes for people.
func size(n int64) string {
	const units = "KMGT"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/1024, 0
	for ; v >= 1023.95 && i < len(units)-1; i++ {
		v /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", v, units[i])
}
