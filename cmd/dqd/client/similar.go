package client

import "strings"

// DidYouMean names the nearest of names, if it is near for a name of that length, else
// the shortest that begins with it, in the form in which it is to be written.
func DidYouMean(name string, names []string, written func(string) string) string {
	best, near := "", min(2, len(name)/2)+1
	for _, n := range names {
		if d := distance(name, n); d < near {
			best, near = n, d
		}
	}
	if best == "" && name != "" {
		for _, n := range names {
			if strings.HasPrefix(n, name) && (best == "" || len(n) < len(best)) {
				best = n
			}
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + written(best) + "?"
}

// distance is the number of characters to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
