package persist

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// beyond is above every key: their first bytes are small.
var beyond = []byte{0xff}

// Reclaim gives the room of what was deleted back to the disk, which merges do by
// themselves only as new writes make them needed. It writes the memory table out and
// merges all tables, about piece bytes of them at a time, as a merge needs room for what
// it keeps before it gives any back. It ends early by ctx, and as a rule at a merge that
// finds no room, which costs nothing but the time; call it when there seems to be some,
// as it ends the pause of merges. It must have ended before Close.
func (s *State) Reclaim(ctx context.Context, piece int64) error {
	if err := s.fault.check(); err != nil {
		return err
	}
	cuts, err := s.cuts(piece)
	if err != nil {
		return fmt.Errorf("reading the list of tables: %w", plain(err))
	}
	s.fault.merges.resume()
	from := []byte{0}
	for _, to := range append(cuts, beyond) {
		if bytes.Compare(from, to) >= 0 {
			continue // tables of two levels end here
		}
		if err := s.db.Compact(ctx, from, to, false); err != nil {
			return fmt.Errorf("merging tables: %w", plain(err))
		}
		from = append(bytes.Clone(to), 0) // a piece has both of its ends
	}
	return nil
}

// cuts divides the keys where about so many bytes of tables lie in between. The
// newest tables, which are in level 0, are merged as a whole anyway.
func (s *State) cuts(piece int64) (cuts [][]byte, err error) {
	levels, err := s.db.SSTables()
	if err != nil {
		return nil, err
	}
	tables := slices.Concat(levels[1:]...)
	slices.SortFunc(tables, func(a, b pebble.SSTableInfo) int { return bytes.Compare(a.Largest.UserKey, b.Largest.UserKey) })
	sum := int64(0)
	for _, t := range tables {
		if sum += int64(t.Size); sum >= piece {
			cuts, sum = append(cuts, t.Largest.UserKey), 0
		}
	}
	return cuts, nil
}
