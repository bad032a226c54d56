package keys

import "nanobot/terminal"

// Parser parses a response for `nanobot parse`. The default format comes first.
func Parser() terminal.Parser {
	return terminal.Parser{
		Object:  `{"analysis":…,"plan":…,"commands":[{"keystrokes":…,"duration":1}],"task_complete":false,"error":"","warnings":[…]}`,
		Formats: Formats(),
		Parse: func(output, format string) (object any, ok bool) {
			r, _ := Parse(Format(format), output)
			return r, r.Error == ""
		},
	}
}
