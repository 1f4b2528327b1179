package evaluate

import "dqd/commands"

// scanWork is how many names a call of a walk looks at, if the pattern is short.
const scanWork = 10_000

// pager gathers a part of a walk. It ends before an item, never in the middle of a
// name that was looked at: the cursor is that of the last item that was.
type pager struct {
	*Batch
	page  *commands.Page
	count int
	match []byte
	work  int  // names that may still be looked at
	room  int  // bytes that the reply may still take
	tied  bool // the item has the cursor of the one before, and must not be separated
}

// newPager begins a part at the cursor.
func (b *Batch) newPager(cursor uint64, count int, match []byte) *pager {
	return &pager{
		Batch: b, page: &commands.Page{Cursor: cursor, Items: commands.Array{}},
		count: count, match: match, work: scanWork, room: b.limit.ReplyMax,
	}
}

// visit looks at the item that has this name and cursor; show adds it if it is
// wanted, and returns false if there is no room. So does visit, when the part ends
// before the item.
func (p *pager) visit(name []byte, cursor uint64, show func() bool) bool {
	p.tied = cursor == p.page.Cursor
	if !p.tied && (p.work <= 0 || len(p.page.Items) >= p.count) {
		return false
	}
	p.work -= 1 + len(p.match)*len(name)>>10 // the steps of MatchGlob, in thousands
	if (p.match == nil || commands.MatchGlob(p.match, name)) && !show() {
		return false
	}
	p.page.Cursor = cursor
	return true
}

// add appends an item that takes at most so many bytes; false = there is no room.
func (p *pager) add(item commands.Reply, size int) bool {
	if p.room -= size; p.room < 0 && len(p.page.Items) > 0 && !p.tied {
		return false
	}
	p.page.Items = append(p.page.Items, item)
	return true
}

// addName appends a name.
func (p *pager) addName(name []byte) bool {
	const overhead = len("$1234567890\r\n\r\n")
	return p.add(commands.Bulk(name), len(name)+overhead)
}

// end is the reply of a walk that is over.
func (p *pager) end() *commands.Page {
	p.page.Cursor = 0
	return p.page
}
