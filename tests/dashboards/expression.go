package dashboards

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// checkExpression looks at an expression, with Grafana's variables in it, and returns what
// is wrong, and the labels that its result may have.
func checkExpression(expression string, metrics map[string]metric) (result map[string]bool, wrong []string) {
	text := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h").Replace(expression)
	e, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return nil, []string{fmt.Sprintf("%s: %v", expression, err)}
	}
	c := checker{metrics: metrics}
	result = c.expr(e, "")
	for i := range c.wrong {
		c.wrong[i] = expression + ": " + c.wrong[i]
	}
	return result, c.wrong
}

type checker struct {
	metrics map[string]metric
	wrong   []string
}

func (c *checker) failf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// ofCounters are the functions that a counter is for, and nothing else is.
var ofCounters = []string{"rate", "increase", "irate"}

// expr returns the labels of what e results in. in is the function that it is an argument of.
func (c *checker) expr(e parser.Expr, in string) map[string]bool {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return c.expr(e.Expr, in)
	case *parser.UnaryExpr:
		return c.expr(e.Expr, in)
	case *parser.MatrixSelector:
		return c.expr(e.VectorSelector, in)
	case *parser.VectorSelector:
		return c.selector(e, in)
	case *parser.Call:
		all := map[string]bool{}
		for _, arg := range e.Args {
			for name := range c.expr(arg, e.Func.Name) {
				all[name] = true
			}
		}
		if e.Func.Name == "histogram_quantile" {
			if !all["le"] {
				c.failf("histogram_quantile of what has no le")
			}
			delete(all, "le")
		}
		return all
	case *parser.AggregateExpr:
		all := c.expr(e.Expr, "")
		c.known("by", e.Grouping, all)
		if e.Op == parser.TOPK || e.Op == parser.BOTTOMK {
			return all
		}
		rest := map[string]bool{}
		for name := range all {
			if slices.Contains(e.Grouping, name) != e.Without {
				rest[name] = true
			}
		}
		return rest
	case *parser.BinaryExpr:
		left, right := c.expr(e.LHS, ""), c.expr(e.RHS, "")
		if e.VectorMatching != nil && e.VectorMatching.On {
			c.known("on, left", e.VectorMatching.MatchingLabels, left)
			c.known("on, right", e.VectorMatching.MatchingLabels, right)
		}
		if e.LHS.Type() == parser.ValueTypeScalar {
			return right
		}
		return left
	}
	return nil
}

func (c *checker) known(what string, names []string, labels map[string]bool) {
	for _, name := range names {
		if !labels[name] {
			c.failf("%s (%s): there is no such label", what, name)
		}
	}
}

func (c *checker) selector(v *parser.VectorSelector, in string) map[string]bool {
	m, ok := c.metrics[v.Name]
	if !ok {
		c.failf("there is no metric %q", v.Name)
		return nil
	}
	switch counts := m.kind == "counter"; {
	case counts && !slices.Contains(ofCounters, in):
		c.failf("%s is a counter: take its rate or increase", v.Name)
	case !counts && slices.Contains(ofCounters, in):
		c.failf("%s is no counter: %s means nothing", v.Name, in)
	}
	names := map[string]bool{}
	for name := range m.labels {
		names[name] = true
	}
	for _, match := range v.LabelMatchers {
		if match.Name == "__name__" {
			continue
		}
		values, ok := m.labels[match.Name]
		if !ok {
			c.failf("%s has no label %s", v.Name, match.Name)
		}
		if values == nil || strings.Contains(match.Value, "$") {
			continue
		}
		wanted := []string{match.Value}
		if match.Type == labels.MatchRegexp || match.Type == labels.MatchNotRegexp {
			wanted = strings.Split(match.Value, "|")
		}
		for _, value := range wanted {
			if !slices.Contains(values, value) {
				c.failf("%s is never %q, but one of %s", match.Name, value, strings.Join(values, ", "))
			}
		}
	}
	return names
}

var (
	legendLabel   = regexp.MustCompile(`\{\{ *([a-z_]+) *\}\}`)
	templateLabel = regexp.MustCompile(`\$labels\.([a-z_]+)`)
)

// checkLabels looks at a text that names labels of a result.
func checkLabels(text string, pattern *regexp.Regexp, result map[string]bool) (wrong []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		if !result[m[1]] {
			wrong = append(wrong, fmt.Sprintf("%q: the result has no label %s", text, m[1]))
		}
	}
	return wrong
}
