package model

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Names pairs what the server makes up with what the model made up in its place: ids for `*`, and lease tokens. A pair is made when a name first
// appears, and holds from then on. It checks what the contract says of them: the shape of an id, no name twice, tokens of a job that only grow.
type Names struct {
	idToServer, idToModel       map[string]string
	tokenToServer, tokenToModel map[int64]int64
	newest                      map[string]int64 // the server's latest token, by job key
	guessing                    int              // > 0 while alternatives are tried: nothing is paired then
	unheard                     bool             // answers may have got lost in which a name appeared first: where no alternative fits, names are paired
}

// NewNames knows no pair yet.
func NewNames() *Names {
	return &Names{map[string]string{}, map[string]string{}, map[int64]int64{}, map[int64]int64{}, map[string]int64{}, 0, false}
}

// ServerID is the server's name for an id that the model made.
func (n *Names) ServerID(model string) (string, bool) {
	s, ok := n.idToServer[model]
	return s, ok
}

// ServerToken is the server's token for one of the model.
func (n *Names) ServerToken(model int64) (int64, bool) {
	t, ok := n.tokenToServer[model]
	return t, ok
}

// Diff compares an answer with what the model expects. It returns "" when they agree, else where they do not.
func (n *Names) Diff(want, got Reply) string {
	differ := func() string { return fmt.Sprintf("want %v\n got %v", want, got) }
	switch want.Kind {
	case Any:
		return ""
	case None:
		if got.Kind == Null || got.Kind == Int && got.Num == 0 || got.Kind == Bulk && got.Str == "" ||
			(got.Kind == Array || got.Kind == Map) && len(got.Items) == 0 {
			return ""
		}
		return differ()
	case OneOf:
		n.guessing++
		defer func() { n.guessing-- }()
		for _, item := range want.Items {
			if n.Diff(item, got) == "" {
				return ""
			}
		}
		if n.unheard {
			n.guessing--
			defer func() { n.guessing++ }()
			for _, item := range want.Items {
				if item.Kind == Lease && n.Diff(item, got) == "" {
					return ""
				}
			}
		}
		return differ()
	case Error:
		words, _, _ := strings.Cut(want.Str, " ")
		for _, word := range strings.Split(words, "|") {
			if got.Word() == word {
				return ""
			}
		}
		return differ()
	case Lease:
		return n.diffLease(want, got)
	case MadeID:
		return n.diffMadeID(want, got)
	case Map:
		return n.diffMap(want, got)
	case Bag:
		return n.diffBag(want, got)
	}
	if want.Kind != got.Kind || want.Str != got.Str || want.Num != got.Num || len(want.Items) != len(got.Items) {
		return differ()
	}
	for i := range want.Items {
		if d := n.Diff(want.Items[i], got.Items[i]); d != "" {
			return fmt.Sprintf("element %d: %s", i, d)
		}
	}
	return ""
}

func (n *Names) diffLease(want, got Reply) string {
	if got.Kind != Int {
		return fmt.Sprintf("want a token, got %v", got)
	}
	known, ok := n.tokenToServer[want.Num]
	other, taken := n.tokenToModel[got.Num]
	switch {
	case ok && known != got.Num:
		return fmt.Sprintf("want token %d, got %d", known, got.Num)
	case ok:
		return ""
	case n.guessing > 0:
		return "token not seen yet"
	case taken:
		return fmt.Sprintf("token %d was given before (to lease %d of the model)", got.Num, other)
	case got.Num <= n.newest[want.Str]:
		return fmt.Sprintf("token %d does not grow: the job already had %d", got.Num, n.newest[want.Str])
	case got.Num >= 1<<53:
		return fmt.Sprintf("token %d is not below 2^53", got.Num)
	}
	n.tokenToServer[want.Num], n.tokenToModel[got.Num], n.newest[want.Str] = got.Num, want.Num, got.Num
	return ""
}

var madeShape = regexp.MustCompile(`^[0-9]{13}-[0-9]+$`)

func (n *Names) diffMadeID(want, got Reply) string {
	known, ok := n.idToServer[want.Str]
	_, taken := n.idToModel[got.Str]
	switch {
	case got.Kind != Bulk:
		return fmt.Sprintf("want an id, got %v", got)
	case ok && known != got.Str:
		return fmt.Sprintf("want id %q, got %q", known, got.Str)
	case ok:
		return ""
	case n.guessing > 0:
		return "id not seen yet"
	case !madeShape.MatchString(got.Str):
		return fmt.Sprintf("id %q does not look like <unix-ms>-<sequence>", got.Str)
	case taken:
		return fmt.Sprintf("id %q was made before", got.Str)
	}
	n.idToServer[want.Str], n.idToModel[got.Str] = got.Str, want.Str
	return ""
}

// diffMap wants every key of the model; more keys are fine, their order is free.
func (n *Names) diffMap(want, got Reply) string {
	if got.Kind != Map && got.Kind != Array || len(got.Items)%2 != 0 {
		return fmt.Sprintf("want a map, got %v", got)
	}
	for i := 0; i < len(want.Items); i += 2 {
		name, expected := want.Items[i].Str, want.Items[i+1]
		value, ok := got.Field(name)
		if !ok && expected.Kind == OneOf && n.Diff(expected, null()) == "" {
			continue
		}
		if !ok && expected.Kind != None {
			return fmt.Sprintf("field %q is missing; want %v", name, expected)
		}
		if d := n.Diff(expected, value); d != "" {
			return fmt.Sprintf("field %q: %s", name, d)
		}
	}
	return ""
}

func (n *Names) diffBag(want, got Reply) string {
	if got.Kind != Array || len(want.Items) != len(got.Items) {
		return fmt.Sprintf("want %v\n got %v", want, got)
	}
	n.guessing++
	defer func() { n.guessing-- }()
	left := append([]Reply(nil), got.Items...)
	for _, item := range want.Items {
		found := -1
		for i, candidate := range left {
			if n.Diff(item, candidate) == "" {
				found = i
				break
			}
		}
		for i := 0; found < 0 && n.unheard && i < len(left); i++ {
			n.guessing--
			if n.Diff(item, left[i]) == "" {
				found = i
			}
			n.guessing++
		}
		if found < 0 {
			return fmt.Sprintf("%v is missing in %v", item, got)
		}
		left = append(left[:found], left[found+1:]...)
	}
	return ""
}

// equation checks I7 on an answer of DQSTATS: every job ever added is somewhere.
func equation(stats Reply) string {
	if stats.Kind == Null {
		return ""
	}
	sum := func(names ...string) (n int64) {
		for _, name := range names {
			v, _ := stats.Field(name)
			if v.Kind == Bulk {
				v.Num, _ = strconv.ParseInt(v.Str, 10, 64)
			}
			n += v.Num
		}
		return n
	}
	added := sum("added")
	rest := sum("delayed", "ready", "leased", "dead", "acked", "noack", "cancelled", "expired", "purged", "pruned")
	if added != rest {
		return fmt.Sprintf("I7: added is %d, but live + dead + acked + noack + cancelled + expired + purged + pruned is %d in %v", added, rest, stats)
	}
	return ""
}
