package wheel

import "fmt"

// check verifies the invariants stated above Wheel, and those of the lists.
func (w *Wheel) check() error {
	seen := map[ID]bool{} // pending or dead
	dead := 0
	see := func(id ID) error {
		if seen[id] {
			return fmt.Errorf("ID %d is in two places", id)
		}
		seen[id] = true
		if !w.ids.pending(id) {
			dead++
		}
		return nil
	}
	for k, t := range w.front.heap {
		switch {
		case t.due > w.cursor:
			return fmt.Errorf("front[%d]: due %d after cursor %d", k, t.due, w.cursor)
		case k > 0 && t.before(w.front.heap[(k-1)/4]):
			return fmt.Errorf("front[%d]: before its parent", k)
		}
		if err := see(t.id); err != nil {
			return err
		}
	}
	chunks := 0
	for r := range uint32(slotCount) {
		level := int(r >> ringBits)
		here := w.cursor >> (level * slotBits)
		l := w.slots.lists[r]
		length, last := uint32(0), uint32(0)
		for c := l.head; c != 0; c = w.chunks.at(c).next {
			p := w.chunks.at(c)
			if p.from >= p.to || p.to > chunkCap {
				return fmt.Errorf("list %d: chunk [%d, %d)", r, p.from, p.to)
			}
			for i := p.from; i < p.to; i++ {
				n := p.due[i] >> (level * slotBits)
				if ring(level, n) != r || n <= here || n-here >= ringSize {
					return fmt.Errorf("list %d: due %d does not belong, cursor %d", r, p.due[i], w.cursor)
				}
				if err := see(p.id[i]); err != nil {
					return err
				}
				length++
			}
			last = c
			chunks++
		}
		if length != l.load || last != l.tail || (length > 0) == w.slots.empty(r) {
			return fmt.Errorf("list %d: %d timers, last chunk %d, but %+v, empty %v", r, length, last, l, w.slots.empty(r))
		}
	}
	if first, ok := w.slots.first(w.cursor); ok && first != w.slots.find(w.cursor) {
		return fmt.Errorf("the first slot is %+v, remembered %+v", w.slots.find(w.cursor), first)
	}
	if dead != w.dead || len(seen)-dead != w.live {
		return fmt.Errorf("found %d pending and %d dead, should be %d and %d", len(seen)-dead, dead, w.live, w.dead)
	}
	free := 0
	for c := w.ids.stack; c != 0; c = w.chunks.at(c).next {
		free += int(w.chunks.at(c).to)
		chunks++
	}
	if len(seen)+free != int(w.ids.top-1) {
		return fmt.Errorf("%d IDs in use, %d free, of %d", len(seen), free, w.ids.top-1)
	}
	for c := w.chunks.freed; c != 0; c = w.chunks.at(c).next {
		chunks++
	}
	if chunks != int(w.chunks.top-1) {
		return fmt.Errorf("%d chunks accounted for, of %d", chunks, w.chunks.top-1)
	}
	return nil
}
