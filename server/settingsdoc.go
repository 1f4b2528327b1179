package server

import (
	"fmt"
	"strings"
)

// SettingRules say how settings are given: a paragraph each, in Markdown.
var SettingRules = []string{
	"A setting is a flag `--name value`, a variable `DQD_NAME` of the environment (`http-port` is `DQD_HTTP_PORT`; an empty one counts as none), or a line `name value` of the file that `--config` or `DQD_CONFIG` names. " +
		"A flag wins over the environment, that over the file, that over the default. `dqd config` prints what counts and where it comes from.",
	"In the file, `#` begins a comment, in a line of its own or behind a value and a blank. A value with blanks or ` #` in it stands in double quotes, with `\\\"` and `\\\\` for a quote and a backslash. A later line wins. " +
		"`include FILE` reads another file at this place; a relative name counts from the folder of the file that has the line. Files include each other at most 8 deep, 100 in all, 1 MiB each.",
	"A secret is no flag, since everybody on the machine can read those. Nothing ever prints one.",
}

const settingsIntro = "# Settings\n" + `
<!-- Made of the table in server/settings.go by "go run ./server/gendoc": change that, not this. -->

`

// SettingsReference returns docs/settings.md.
func SettingsReference() []byte {
	var b strings.Builder
	b.WriteString(settingsIntro)
	for _, paragraph := range SettingRules {
		b.WriteString(paragraph + "\n\n")
	}
	b.WriteString("A name that is none, or a value that is not allowed, stops the start with exit code 2 and a line that says what to write instead. " +
		"Variables such as `DQD_SERVICE_HOST` and `DQD_PORT=tcp://…`, which Kubernetes sets beside a service of the name dqd, are passed over.\n\n" +
		"*Live* are those that `CONFIG SET` changes until the server ends; `CONFIG GET` shows all but secrets, sizes in bytes. `CONFIG REWRITE` is refused: dqd does not write its configuration file.\n")
	for _, group := range settingGroups {
		b.WriteString("\n## " + group.Title + "\n\n| setting | default | values | live | |\n|---|---|---|---|---|\n")
		for i := range group.Settings {
			s := &group.Settings[i]
			value, liveMark := "", ""
			if s.Default != "" {
				value = "`" + s.Default + "`"
			}
			if s.Live {
				liveMark = "live"
			}
			text := strings.ToUpper(s.Usage[:1]) + s.Usage[1:] + "."
			if s.Note != "" {
				text += " " + s.Note
			}
			if s.Secret {
				text += " A secret: `" + s.Variable() + "` or the file, no flag."
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.Name, value, strings.ReplaceAll(s.Values, "*", "`*`"), liveMark, text)
		}
	}
	var names []string
	for _, c := range constantSettings {
		names = append(names, "`"+c.name+"`")
	}
	b.WriteString("\n## Shown only\n\n`CONFIG GET` shows besides what Redis tools ask for, and limits that no setting changes ([limits.md](limits.md)); `CONFIG SET` refuses them: " + strings.Join(names, ", ") + ".\n")
	return []byte(b.String())
}
