package resp

import (
	"strconv"

	"github.com/tidwall/redcon"
)

// Writer appends replies to Buf in the protocol of one connection. It writes only
// types that every client survives: no attributes, big numbers, verbatim strings.
// It satisfies commands.Writer.
type Writer struct {
	Buf []byte
	// RESP3 is set by HELLO 3.
	RESP3 bool
	// Limit bounds len(Buf), 0 = not. A small command may ask for a very large
	// reply, so the bound holds while the reply is written: beyond it nothing
	// is appended any more and Overflow is set; Buf is then of no use.
	Limit    int
	Overflow bool
}

// headerMax is more than a reply's type, number and line end take.
const headerMax = 32

// fits reports whether n bytes and a header may be appended.
func (w *Writer) fits(n int) bool {
	if w.Limit > 0 && len(w.Buf)+n+headerMax > w.Limit {
		w.Overflow = true
	}
	return !w.Overflow
}

// Simple writes a status. Line breaks become blanks, so no text can forge a reply.
func (w *Writer) Simple(s string) {
	if w.fits(len(s)) {
		w.Buf = redcon.AppendString(w.Buf, s)
	}
}

// Error writes an error, code first. Line breaks become blanks.
func (w *Writer) Error(s string) {
	if w.fits(len(s)) {
		w.Buf = redcon.AppendError(w.Buf, s)
	}
}

// Int writes an integer.
func (w *Writer) Int(n int64) {
	if w.fits(0) {
		w.Buf = redcon.AppendInt(w.Buf, n)
	}
}

// Bulk writes a binary-safe string.
func (w *Writer) Bulk(b []byte) {
	if w.fits(len(b)) {
		w.Buf = redcon.AppendBulk(w.Buf, b)
	}
}

// BulkString is Bulk for a string.
func (w *Writer) BulkString(s string) {
	if w.fits(len(s)) {
		w.Buf = redcon.AppendBulkString(w.Buf, s)
	}
}

// Null writes a missing value.
func (w *Writer) Null() { w.null("$-1\r\n") }

// NullArray writes a missing array.
func (w *Writer) NullArray() { w.null("*-1\r\n") }

func (w *Writer) null(resp2 string) {
	if !w.fits(0) {
		return
	}
	if w.RESP3 {
		resp2 = "_\r\n"
	}
	w.Buf = append(w.Buf, resp2...)
}

// Array announces n elements.
func (w *Writer) Array(n int) { w.header('*', n) }

// Map announces n pairs.
func (w *Writer) Map(n int) {
	if w.RESP3 {
		w.header('%', n)
		return
	}
	w.header('*', 2*n)
}

func (w *Writer) header(kind byte, n int) {
	if !w.fits(0) {
		return
	}
	w.Buf = append(w.Buf, kind)
	w.Buf = strconv.AppendInt(w.Buf, int64(n), 10)
	w.Buf = append(w.Buf, '\r', '\n')
}
