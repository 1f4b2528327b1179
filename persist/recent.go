package persist

// recent keeps the newest entries of the log in memory, because raft reads each
// entry back soon after it was written. It is bounded in bytes: raft's own cache
// counts entries, and ours can be large. The entries' data is shared with whoever
// appended them.
type recent struct {
	limit   int
	bytes   int
	entries []Entry // consecutive; the last one is the log's last
}

func (r *recent) push(e Entry) {
	if n := len(r.entries); n > 0 && r.entries[n-1].Index+1 != e.Index {
		r.clear()
	}
	r.entries = append(r.entries, e)
	r.bytes += e.size()
	drop := 0
	for r.bytes > r.limit && drop < len(r.entries) {
		r.bytes -= r.entries[drop].size()
		r.entries[drop] = Entry{}
		drop++
	}
	r.entries = r.entries[drop:]
}

func (r *recent) get(index uint64) (Entry, bool) {
	if len(r.entries) == 0 || index < r.entries[0].Index || index-r.entries[0].Index >= uint64(len(r.entries)) {
		return Entry{}, false
	}
	return r.entries[index-r.entries[0].Index], true
}

// keep drops all entries outside of [first, last].
func (r *recent) keep(first, last uint64) {
	kept := r.entries[:0]
	r.bytes = 0
	for _, e := range r.entries {
		if e.Index >= first && e.Index <= last {
			kept = append(kept, e)
			r.bytes += e.size()
		}
	}
	clear(r.entries[len(kept):])
	r.entries = kept
}

func (r *recent) clear() { *r = recent{limit: r.limit} }
