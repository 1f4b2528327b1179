package dashboards

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	grafana "github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

const sdk = "github.com/grafana/grafana-foundation-sdk/go/"

// The schema of what every Grafana imports; the newer one is another format.
//
//lint:ignore SA1019 it is deprecated as a thing to make new dashboards with
type imported = grafana.Dashboard

// columns is the width of Grafana's page.
const columns = 24

// The kinds of panels and of queries that a dashboard may have. Those that are not here
// would be read without a look at their options.
var register = sync.OnceFunc(func() {
	r := cog.NewRuntime()
	r.RegisterPanelcfgVariant(heatmap.VariantConfig())
	r.RegisterPanelcfgVariant(stat.VariantConfig())
	r.RegisterPanelcfgVariant(timeseries.VariantConfig())
	r.RegisterDataqueryVariant(prometheus.VariantConfig())
})

// checkSchema reads a dashboard as Grafana's own types say that it has to be, and returns
// what is wrong: fields that do not exist, or are missing, values of a wrong type or outside
// their enumeration, and what Grafana draws wrongly without a word.
func checkSchema(text string) []string {
	register()
	c := schemaChecker{}
	c.strict("", new(imported).UnmarshalJSONStrict([]byte(text)))
	// The strict reading is not strict with these.
	var loose struct {
		Panels []struct {
			Title       string
			FieldConfig json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(text), &loose); err != nil {
		c.failf("%v", err)
	}
	for _, p := range loose.Panels {
		c.strict("panel "+p.Title+": ", new(grafana.FieldConfigSource).UnmarshalJSONStrict(p.FieldConfig))
	}
	// Nor is what it leaves behind whole: it is read once more, for what is in it.
	var d imported
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		c.failf("%v", err)
		return c.wrong
	}
	if err := d.Validate(); err != nil {
		c.failf("%v", err)
	}
	// Older ones than Grafana 11's are migrated, newer ones are not understood.
	if newest := grafana.NewDashboard().SchemaVersion; d.SchemaVersion < 39 || d.SchemaVersion > newest {
		c.failf("schemaVersion: %d is not within 39 to %d", d.SchemaVersion, newest)
	}
	c.variables(d.Templating.List)
	c.panels(d.Panels)
	for _, a := range d.Annotations.List {
		c.needsSource("annotation "+a.Name, a.Datasource)
	}
	c.walk("", reflect.ValueOf(d))
	return c.wrong
}

type schemaChecker struct {
	wrong   []string
	sources map[string]string // a variable of data sources, as it is referred to, to their kind
}

func (c *schemaChecker) failf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// strict notes the errors of a strict reading, which returns an empty list of them if all
// is well.
func (c *schemaChecker) strict(where string, err error) {
	var list cog.BuildErrors
	if err != nil && !errors.As(err, &list) {
		c.failf("%s%v", where, err)
	}
	for _, e := range list {
		c.failf("%s%v", where, e)
	}
}

func (c *schemaChecker) variables(list []grafana.VariableModel) {
	names := map[string]bool{}
	c.sources = map[string]string{}
	for _, v := range list {
		if names[v.Name] {
			c.failf("variable %s: there are two", v.Name)
		}
		names[v.Name] = true
		switch v.Type {
		case grafana.VariableTypeDatasource:
			if v.Query != nil && v.Query.String != nil {
				c.sources["${"+v.Name+"}"] = *v.Query.String
			}
		case grafana.VariableTypeQuery:
			c.needsSource("variable "+v.Name, v.Datasource)
		}
	}
}

func (c *schemaChecker) needsSource(where string, ref *grafana.DataSourceRef) {
	if ref == nil {
		c.failf("%s: no datasource", where)
	}
}

func (c *schemaChecker) panels(list []grafana.PanelOrRowPanel) {
	ids, taken := map[uint32]string{}, map[[2]uint32]string{}
	for _, either := range list {
		var id *uint32
		var title *string
		var at *grafana.GridPos
		switch p, row := either.Panel, either.RowPanel; {
		case row != nil:
			id, title, at = &row.Id, row.Title, row.GridPos
			if row.Collapsed || len(row.Panels) > 0 {
				c.failf("row %s: what is inside a closed row is not looked at", value(title))
			}
		case p != nil:
			id, title, at = p.Id, p.Title, p.GridPos
			c.panel(p)
		}
		name := value(title)
		if name == "" || id == nil || at == nil {
			c.failf("panel %q: no title, id or gridPos", name)
			continue
		}
		if other, ok := ids[*id]; ok {
			c.failf("panel %s: its id %d is that of %s", name, *id, other)
		}
		ids[*id] = name
		if at.X+at.W > columns {
			c.failf("panel %s: reaches beyond column %d", name, columns)
			continue
		}
		over := map[string]bool{}
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other, ok := taken[[2]uint32{x, y}]; ok && !over[other] {
					over[other] = true
					c.failf("panel %s: lies on %s", name, other)
				}
				taken[[2]uint32{x, y}] = name
			}
		}
	}
}

func (c *schemaChecker) panel(p *grafana.Panel) {
	name := "panel " + value(p.Title)
	if _, ok := cog.ConfigForPanelcfgVariant(p.Type); !ok {
		c.failf("%s: no check knows the type %q", name, p.Type)
	}
	c.needsSource(name, p.Datasource)
	refs := map[string]bool{}
	for _, target := range p.Targets {
		q, ok := target.(*prometheus.Dataquery)
		if !ok {
			c.failf("%s: a query is not one of Prometheus", name)
			continue
		}
		c.needsSource(name+", query", q.Datasource)
		ref := value(q.RefId)
		if ref == "" || refs[ref] {
			c.failf("%s: the refId %q is none, or another query's", name, ref)
		}
		refs[ref] = true
	}
	if f := p.FieldConfig; f != nil {
		if len(f.Overrides) > 0 {
			c.failf("%s: no check reads overrides", name)
		}
		if f.Defaults.Thresholds != nil {
			c.thresholds(name, f.Defaults.Thresholds.Steps)
		}
	}
}

// thresholds: the first step is the one below all others, which stand in order.
func (c *schemaChecker) thresholds(name string, steps []grafana.Threshold) {
	for i, s := range steps {
		if (i == 0) != (s.Value == nil) || i > 1 && steps[i-1].Value != nil && s.Value != nil && *s.Value <= *steps[i-1].Value {
			c.failf("%s: the steps of its thresholds are not null and then upwards", name)
			return
		}
	}
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// walk holds each value of an enumeration, each unit and each reference to a data source
// against what there is.
func (c *schemaChecker) walk(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			c.walk(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			c.walk(fmt.Sprintf("%s.%v", path, key), v.MapIndex(key))
		}
	case reflect.Struct:
		if ref, ok := v.Interface().(grafana.DataSourceRef); ok {
			if kind := c.sources[value(ref.Uid)]; kind == "" || kind != value(ref.Type) {
				c.failf("%s: there is no data source %q of the type %q", path, value(ref.Uid), value(ref.Type))
			}
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name == "Unit" {
				c.oneOf(path+".unit", "units", reflect.Indirect(v.Field(i)), constants("units")[""])
			}
			c.walk(path+"."+strings.ToLower(name[:1])+name[1:], v.Field(i))
		}
	case reflect.String, reflect.Int64:
		if p, ok := strings.CutPrefix(v.Type().PkgPath(), sdk); ok {
			c.oneOf(path, v.Type().String(), v, constants(p)[v.Type().Name()])
		}
	}
}

func (c *schemaChecker) oneOf(path, kind string, v reflect.Value, known []string) {
	if v.IsValid() && len(known) > 0 && !slices.Contains(known, fmt.Sprint(v)) {
		c.failf("%s: %q is none of %s: %s", path, fmt.Sprint(v), kind, strings.Join(known, ", "))
	}
}

var constantsOf sync.Map

// constants returns the values of each enumeration of a package of the schema, by the name
// of its type, from its source: reflection knows the type of a value but not its constants.
func constants(name string) map[string][]string {
	if known, ok := constantsOf.Load(name); ok {
		return known.(map[string][]string)
	}
	p, err := build.Import(sdk+name, ".", 0)
	if err != nil {
		panic(err)
	}
	all := map[string][]string{}
	for _, file := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), p.Dir+"/"+file, nil, parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				s := s.(*ast.ValueSpec)
				of := ""
				if s.Type != nil {
					of = s.Type.(*ast.Ident).Name
				}
				for _, v := range s.Values {
					text := types.ExprString(v)
					if unquoted, err := strconv.Unquote(text); err == nil {
						text = unquoted
					}
					all[of] = append(all[of], text)
				}
			}
		}
	}
	constantsOf.Store(name, all)
	return all
}
