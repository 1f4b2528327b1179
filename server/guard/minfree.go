package guard

import "fmt"

// MinFree is what must stay free of a disk: a share, a size, or the smaller of
// both. The zero value is no demand.
type MinFree struct {
	Percent int64 // 0 = no share
	Bytes   int64 // 0 = no size
}

// Off reports that nothing must stay free.
func (m MinFree) Off() bool { return m == MinFree{} }

// Of returns the bytes that must stay free of a disk of total bytes. On a large
// disk a share would be more than is ever needed, on a small one a size could be
// all of it; so the smaller demand counts.
func (m MinFree) Of(total int64) int64 {
	share := total / 100 * m.Percent
	switch {
	case m.Percent == 0:
		return m.Bytes
	case m.Bytes == 0:
		return share
	}
	return min(share, m.Bytes)
}

// String writes it as it is configured.
func (m MinFree) String() string {
	switch {
	case m.Off():
		return "off"
	case m.Percent == 0:
		return fmt.Sprint(m.Bytes)
	case m.Bytes == 0:
		return fmt.Sprintf("%d%%", m.Percent)
	}
	return fmt.Sprintf("%d%%,%d", m.Percent, m.Bytes)
}

// Bytes writes a size for people.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
