package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"dqd/cmd/dqd/client"
	"dqd/cmd/dqd/readfile"
	"dqd/server"
)

// config is how the process was asked to run.
type config struct {
	server.Options
	given map[string]given // each setting that is not at its default
}

// given is a setting's value as it was written, and where.
type given struct {
	value string
	from  string // "dqd.conf:3", "DQD_PORT", "--port"
	as    string // "dqd.conf:3: port 1", "DQD_PORT=1", "--port 1"; of a secret without the value
}

const (
	configName     = "config" // the flag that names the file
	configVariable = "DQD_CONFIG"
	prefix         = "DQD_"
)

// errHelp says that the flags asked for help.
var errHelp = errors.New("help")

// settings are all rows of the table.
func settings() (list []*server.Setting) {
	for _, group := range server.AllSettings() {
		for i := range group.Settings {
			list = append(list, &group.Settings[i])
		}
	}
	return list
}

// readConfig merges defaults, file, environment and flags; the later wins. A value
// that another one hides is not looked at, a name that is none is always refused.
func readConfig(args, environment []string) (*config, error) {
	flags, err := readFlags(args)
	if err != nil {
		return nil, err
	}
	variables, err := readEnvironment(environment)
	if err != nil {
		return nil, err
	}
	c := &config{Options: server.DefaultOptions(), given: map[string]given{}}
	var named string // where the file is
	for _, from := range []map[string]given{variables, flags} {
		if g, ok := from[configName]; ok {
			c.ConfigFile, named = g.value, g.as
		}
	}
	if c.ConfigFile != "" {
		f := fileReader{given: c.given}
		if err := f.read(c.ConfigFile, named); err != nil {
			return nil, err
		}
	}
	for _, from := range []map[string]given{variables, flags} {
		for name, g := range from {
			c.given[name] = g
		}
	}
	delete(c.given, configName)
	for _, s := range settings() {
		if g, ok := c.given[s.Name]; ok {
			if err := s.Set(&c.Options, g.value); err != nil {
				return nil, fmt.Errorf("%s: %w", g.as, err)
			}
		} else if s.Default != "" {
			if err := s.Set(&c.Options, s.Default); err != nil { // a share of another one, perhaps
				return nil, fmt.Errorf("the default of %s: %w", s.Name, err)
			}
		}
	}
	if err := c.readPassword(); err != nil {
		return c, err
	}
	if err := c.ServesSomebody(); err != nil {
		return c, fmt.Errorf("%s: %w; set DQD_REQUIREPASS, or add 127.0.0.1 to bind, or --protected-mode no where the network is trusted", c.given["bind"].as, err)
	}
	return c, nil
}

// readPassword reads the file that has the password.
func (c *config) readPassword() error {
	file, ok := c.given["requirepass-file"]
	if !ok {
		return nil
	}
	if other, ok := c.given["requirepass"]; ok {
		return fmt.Errorf("%s: there is a requirepass already (%s): leave one of them out", file.as, other.from)
	}
	password, err := readfile.Password(c.PasswordFile)
	if err == nil {
		err = server.FindSetting("requirepass").Set(&c.Options, password)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file.as, err)
	}
	return nil
}

// readFlags reads --name value; -name and = are taken too.
func readFlags(args []string) (map[string]given, error) {
	read := map[string]given{}
	flags := flag.NewFlagSet("dqd", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	names := []string{configName}
	take := func(name string) {
		flags.Func(name, "", func(v string) error {
			read[name] = given{v, "--" + name, "--" + name + " " + v}
			return nil
		})
	}
	take(configName)
	for _, s := range settings() {
		names = append(names, s.Name)
		if !s.Secret {
			take(s.Name)
		}
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, errHelp
		}
		if name, ok := strings.CutPrefix(err.Error(), "flag needs an argument: -"); ok {
			return nil, fmt.Errorf("--%s needs a value behind it", name)
		}
		name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
		if !ok {
			return nil, err
		}
		if s := server.FindSetting(name); s != nil { // a secret
			return nil, fmt.Errorf("--%s is no flag, everybody on the machine can read those: give it as %s, in the configuration file, or with --requirepass-file", name, s.Variable())
		}
		return nil, fmt.Errorf("unknown flag --%s%s", name, instead(name, name, names, func(n string) string {
			if s := server.FindSetting(n); s != nil && s.Secret {
				return s.Variable() + " in the environment"
			}
			return "--" + n
		}))
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: settings are written --name value", flags.Arg(0))
	}
	return read, nil
}

// instead says what to do about a name that is none: of a setting, and as it was written.
func instead(setting, name string, names []string, written func(string) string) string {
	if server.IsConstant(setting) {
		return ": it is fixed, CONFIG GET only shows it; leave it out"
	}
	return client.DidYouMean(name, names, written)
}

// readEnvironment reads DQD_NAME=value. An empty value counts as none.
func readEnvironment(environment []string) (map[string]given, error) {
	read := map[string]given{}
	names := map[string]string{configVariable: configName}
	for _, s := range settings() {
		names[s.Variable()] = s.Name
	}
	for _, pair := range environment {
		variable, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(variable, prefix) || value == "" || kubernetes.MatchString(variable+"="+value) {
			continue
		}
		name, ok := names[variable]
		if !ok {
			all := make([]string, 0, len(names))
			for n := range names {
				all = append(all, n)
			}
			slices.Sort(all)
			setting := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, prefix)), "_", "-")
			return nil, fmt.Errorf("unknown setting %s in the environment%s", variable, instead(setting, variable, all, strings.Clone))
		}
		as := pair
		if s := server.FindSetting(name); s != nil && s.Secret {
			as = variable
		}
		read[name] = given{value, variable, as}
	}
	return read, nil
}

// kubernetes matches the variables that Kubernetes sets in every pod beside a service
// whose name is dqd, or begins with it, such as DQD_PORT=tcp://10.0.0.1:7711.
var kubernetes = regexp.MustCompile(`^DQD_(.+_)?(SERVICE_(HOST|PORT(_.+)?)|PORT_\d+_(TCP|UDP|SCTP)(_.+)?)=|^DQD_(.+_)?PORT=\w+://`)

// open says what it means that other machines reach these addresses and there is no
// password: all of them are served, or none is. Empty = nobody else does, or there is one.
func (c *config) open() string {
	switch {
	case c.Password != "" || !slices.ContainsFunc(c.Bind, func(a string) bool { return !server.OnlyLoopback(a) }):
		return ""
	case c.Unprotected:
		return "protected mode is off and there is no password: whoever reaches these addresses reads and changes all jobs; set DQD_REQUIREPASS"
	}
	return "there is no password: protected mode refuses every client that does not come over loopback; set DQD_REQUIREPASS, or --protected-mode no where the network is trusted"
}
