package persist

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// CheckTables reads every block of the store's tables and compares it with its
// checksum. It returns a problem for each damaged table; they are ErrDamaged.
func (s *State) CheckTables() []error { return checkTables(s.db, s.fs, s.fault.dir) }

// CheckTables reads every block of the store's tables and compares it with its
// checksum. It returns a problem for each damaged table; they are ErrDamaged.
func (l *Log) CheckTables() []error {
	if err := l.enter(); err != nil {
		return []error{err}
	}
	defer l.exit()
	return checkTables(l.db, l.witness.fs, l.fault.dir)
}

// checkTables looks at the tables that are in use: others may be what a crash left
// of a flush.
func checkTables(db *pebble.DB, fs FS, dir string) (problems []error) {
	levels, err := db.SSTables()
	if err != nil {
		return []error{plain(err)}
	}
	for _, tables := range levels {
		for _, t := range tables {
			name := fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum))
			if err := checkTable(fs, fs.PathJoin(dir, name)); err != nil {
				problems = append(problems, fmt.Errorf("table %s: %w: %v", name, ErrDamaged, plain(err)))
			}
		}
	}
	return problems
}

func checkTable(fs FS, path string) error {
	f, err := fs.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		f.Close()
		return err
	}
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	if err != nil {
		readable.Close()
		return err
	}
	err = r.ValidateBlockChecksums()
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return err
}
