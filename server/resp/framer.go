package resp

import "bytes"

// Framer finds where commands end. It looks at each byte of a header once, steps
// over the bodies, allocates nothing, and remembers where it stopped.
//
//	state      reads                            then
//	start      '*' or anything else             count, inline
//	count      digits CR                        countLF
//	countLF    LF                               dollar, or a frame without arguments
//	dollar     '$'                              length
//	length     digits CR                        lengthLF
//	lengthLF   LF                               body
//	body       the announced bytes and CR LF    dollar, or a frame
//	inline     up to LF                         a frame
type Framer struct {
	Limits Limits

	state  state
	pos    int  // bytes of the unfinished command that were examined
	number int  // header number so far
	digits int  // digits of it
	minus  bool // it began with '-'
	args   int  // arguments of this command
	left   int  // arguments still to come
	end    int  // body: where it ends, CR LF included
}

type state uint8

const (
	start state = iota
	count
	countLF
	dollar
	length
	lengthLF
	body
	inline
)

// maxDigits keeps header numbers far from overflow; every limit has fewer digits.
const maxDigits = 10

// Frame is one complete command.
type Frame struct {
	Len    int  // bytes it takes
	Args   int  // announced arguments; unknown (0) for inline commands
	Inline bool // a line of words, not RESP
}

// Next looks for a complete command at the beginning of buf. If there is none
// yet, the next call must see the same bytes again, and more. Errors are
// ProtocolErrors and final.
func (f *Framer) Next(buf []byte) (frame Frame, ok bool, err error) {
	for f.pos < len(buf) {
		switch f.state {
		case start:
			if buf[0] != '*' {
				f.state = inline
				continue
			}
			f.startNumber(count)
			f.pos++
		case count:
			done, valid := f.digit(buf[f.pos])
			if !valid {
				return Frame{}, false, errMultibulk
			}
			f.pos++
			if done {
				f.state = countLF
			}
		case countLF:
			switch {
			case buf[f.pos] != '\n' || f.number > f.hardArgs():
				return Frame{}, false, errMultibulk
			case f.number > f.Limits.Args:
				return Frame{}, false, errMultibulkUnauth
			}
			f.pos++
			if f.minus || f.number == 0 { // drivers send *0 and *-1; Redis ignores them
				return f.finish(), true, nil
			}
			f.args, f.left = f.number, f.number
			f.state = dollar
		case dollar:
			if c := buf[f.pos]; c != '$' {
				return Frame{}, false, ProtocolError("ERR Protocol error: expected '$', got '" + string([]byte{c}) + "'")
			}
			f.startNumber(length)
			f.pos++
		case length:
			done, valid := f.digit(buf[f.pos])
			if !valid || f.minus {
				return Frame{}, false, errBulk
			}
			f.pos++
			if done {
				f.state = lengthLF
			}
		case lengthLF:
			switch {
			case buf[f.pos] != '\n' || f.number > f.hardBulk():
				return Frame{}, false, errBulk
			case f.number > f.Limits.Bulk:
				return Frame{}, false, errBulkUnauth
			}
			f.pos++
			f.end = f.pos + f.number + 2
			if f.end > f.Limits.Command {
				return Frame{}, false, errCommand
			}
			f.state = body
		case body:
			if len(buf) < f.end {
				f.pos = len(buf)
				return Frame{}, false, nil
			}
			if buf[f.end-2] != '\r' || buf[f.end-1] != '\n' {
				return Frame{}, false, errBulk
			}
			f.pos = f.end
			f.left--
			if f.left == 0 {
				return f.finish(), true, nil
			}
			f.state = dollar
		case inline:
			i := bytes.IndexByte(buf[f.pos:], '\n')
			if i < 0 {
				f.pos = len(buf)
			} else {
				f.pos += i + 1
			}
			// A CR at the end of what has come so far may belong to the line end.
			if line := bytes.TrimSuffix(bytes.TrimSuffix(buf[:f.pos], []byte("\n")), []byte("\r")); len(line) > f.Limits.Inline {
				return Frame{}, false, errInline
			}
			if i >= 0 {
				frame = f.finish()
				frame.Inline = true
				return frame, true, nil
			}
		}
	}
	return Frame{}, false, nil
}

// Started reports whether part of a command was seen.
func (f *Framer) Started() bool { return f.pos > 0 }

// Need returns how many bytes the unfinished command will take at least, so that
// a large one gets its buffer in one piece. It never exceeds Limits.Command.
func (f *Framer) Need() int {
	if f.state == body {
		return f.end
	}
	return f.pos + 1
}

func (f *Framer) finish() Frame {
	frame := Frame{Len: f.pos, Args: f.args}
	*f = Framer{Limits: f.Limits}
	return frame
}

func (f *Framer) startNumber(s state) {
	f.state, f.number, f.digits, f.minus = s, 0, 0, false
}

// digit takes the next byte of a header number, written as Redis wants it: no
// plus sign, no leading zeros, no blanks. done = it was the CR at the end.
func (f *Framer) digit(c byte) (done, valid bool) {
	switch {
	case c >= '0' && c <= '9':
		if f.digits == maxDigits || f.digits == 1 && f.number == 0 || f.minus && f.digits == 0 && c == '0' {
			return false, false
		}
		f.number = f.number*10 + int(c-'0')
		f.digits++
		return false, true
	case c == '-':
		valid = f.digits == 0 && !f.minus
		f.minus = true
		return false, valid
	case c == '\r':
		return true, f.digits > 0
	}
	return false, false
}

// hardArgs and hardBulk are the limits beyond which a length is wrong for
// everybody. Before AUTH what lies between them and the limit has its own text;
// for lengths Redis's own maximum divides the two.
func (f *Framer) hardArgs() int {
	if f.Limits.Unauthenticated {
		return DefaultLimits().Args
	}
	return f.Limits.Args
}

func (f *Framer) hardBulk() int {
	if f.Limits.Unauthenticated {
		return 512 << 20
	}
	return f.Limits.Bulk
}
