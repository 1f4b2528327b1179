package dispatch

import "github.com/cespare/xxhash/v2"

// Known tells which ids certainly have no live job, so that most adds need not
// look into the store. It is a blocked Bloom filter (Putze, Sanders, Singler,
// 2007): one cache line per id, 16 bits of memory per id, about one false
// "perhaps" in a thousand.
//
// Invariant: every live job's key was added. Keys of ended jobs stay, so a full
// filter is replaced by one built from the store.
type Known struct {
	blocks   []block
	n, limit int64
}

type block [8]uint64

// keysPerBlock gives 16 bits to each key.
const keysPerBlock = 32

// NewKnown returns an empty filter for n keys.
func NewKnown(n int64) *Known {
	return &Known{blocks: make([]block, n/keysPerBlock+1), limit: n}
}

// Hash returns the hash of a job's key (queue number and id) that Add and Has take.
func Hash(key []byte) uint64 { return xxhash.Sum64(key) }

// Add adds a key.
func (k *Known) Add(hash uint64) {
	b, bits := k.at(hash)
	for range 7 {
		b[bits&7] |= 1 << (bits >> 3 & 63)
		bits >>= 9
	}
	k.n++
}

// Has reports whether the key may have been added; false is certain.
func (k *Known) Has(hash uint64) bool {
	b, bits := k.at(hash)
	for range 7 {
		if b[bits&7]&(1<<(bits>>3&63)) == 0 {
			return false
		}
		bits >>= 9
	}
	return true
}

// at returns the key's block, chosen by the hash's upper half, and bits for the
// seven places in it, which must not depend on that choice.
func (k *Known) at(hash uint64) (*block, uint64) {
	i := hash >> 32 * uint64(len(k.blocks)) >> 32
	return &k.blocks[i], hash * 0x9E3779B97F4A7C15 // Knuth's multiplicative hash
}

// Full reports that more keys were added than the filter was made for.
func (k *Known) Full() bool { return k.n > k.limit }
