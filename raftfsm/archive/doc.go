// Package archive is the format of a backup: one stream of bytes that holds a whole
// state as of one moment, and proves that it is whole. It is pure.
//
//	10  "dqd-backup"
//	1   version
//	…   blocks: one head, pairs, one end; nothing behind it
//
// A block. Integers are big-endian.
//
//	1   kind: 1 = head, 2 = pairs, 3 = end
//	4   length of the content, at most 32 MiB
//	…   content
//	8   XXH64 of everything before, from the first byte of the archive
//
// Each sum covers all before it, so that a block that is damaged, missing, doubled, in
// another place or of another backup shows at the next sum, and an archive without an
// end is none.
//
//	head   1 version of the records, 4 shard, 8 taken (Unix ns, the server's wall clock)
//	pairs  any number of uv+ key, uv+ value: the store's keys, ascending over all blocks
//	end    8 number of pairs
package archive
