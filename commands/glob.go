package commands

// MatchGlob reports whether s matches a pattern as Redis writes them: * ? [a-z]
// [^x] and \ before a character that is meant itself. Upper and lower case
// count. It takes at most len(pattern)·len(s) steps.
func MatchGlob(pattern, s []byte) bool {
	p, i := 0, 0
	star, starAt := -1, 0 // behind the latest *, and where in s it was tried last
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, starAt = p, i
			continue
		}
		if p < len(pattern) {
			if ok, next := matchOne(pattern, p, s[i]); ok {
				p = next
				i++
				continue
			}
		}
		if star < 0 {
			return false
		}
		starAt++
		p, i = star, starAt
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches c with the element of the pattern at p, and returns where the next begins.
func matchOne(pattern []byte, p int, c byte) (ok bool, next int) {
	switch pattern[p] {
	case '?':
		return true, p + 1
	case '[':
		return matchClass(pattern, p+1, c)
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	}
	return pattern[p] == c, p + 1
}

// matchClass matches c with the class that begins at p, behind its [. As in
// Redis a class that is not closed reaches to the end of the pattern.
func matchClass(pattern []byte, p int, c byte) (ok bool, next int) {
	not := p < len(pattern) && pattern[p] == '^'
	if not {
		p++
	}
	for p < len(pattern) && pattern[p] != ']' {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			ok = ok || pattern[p+1] == c
			p += 2
		case p+2 < len(pattern) && pattern[p+1] == '-':
			low, high := min(pattern[p], pattern[p+2]), max(pattern[p], pattern[p+2])
			ok = ok || low <= c && c <= high
			p += 3
		default:
			ok = ok || pattern[p] == c
			p++
		}
	}
	return ok != not, min(p+1, len(pattern))
}
