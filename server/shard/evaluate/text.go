package evaluate

import "strconv"

// quoteMax is how much of a name or id an error text shows.
const quoteMax = 64

// quote shows a binary-safe name or id in an error text.
func quote(b []byte) string {
	if len(b) > quoteMax {
		return strconv.Quote(string(b[:quoteMax])) + "…"
	}
	return strconv.Quote(string(b))
}
