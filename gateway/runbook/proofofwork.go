package runbook

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"

	"nanobot/internal/lazyregexp"
)

var (
	// oldForm matches a line such as `- **PROOF OF WORK:** make test`.
	oldForm = lazyregexp.New(`(?i)^[ \t]*(?:[-*+•>][ \t]*)?(\*\*)?[ \t]*PROOF[ \t]+OF[ \t]+WORK[ \t]*(\*\*)?[ \t]*:[ \t]*(\*\*)?[ \t]*(.*?)[ \t]*$`)
	// oldTimeout matches a command in the old form with a time limit.
	oldTimeout = lazyregexp.New(`(?i)^timeout[ \t]+([0-9]+)(ms|s|m|h)?[ \t]+(.+)$`)
)

const oldDefaultTimeout = 60 // seconds

// unitSeconds are the seconds of a time unit.
var unitSeconds = map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}

// findOldForm removes the first line in the old form from a section. It returns the other lines,
// the definition, nil if there is no such line, and the line's number.
func (r *textReader) findOldForm(s section) (string, json.RawMessage, int) {
	code := r.codeLines(s)
	for line := r.lineAt(s.start); line <= len(r.lines) && r.lineStart(line) < s.end; line++ {
		start, end := r.lineStart(line), r.lineStart(line+1)
		command := readOldForm(strings.TrimSuffix(r.source[start:end], "\n"))
		if command != "" && !code[line] {
			return r.source[s.start:start] + r.source[end:s.end], commandDefinition(command), line
		}
	}
	return r.source[s.start:s.end], nil, s.line
}

// codeLines returns the lines of fenced blocks and HTML.
func (r *textReader) codeLines(s section) map[int]bool {
	lines := map[int]bool{}
	walkCode(s.nodes, func(n ast.Node) {
		if n.Kind() == ast.KindCodeBlock {
			return // an indented line may be in the old form
		}
		for i := range n.Lines().Len() {
			lines[r.lineAt(n.Lines().At(i).Start)] = true
		}
	})
	return lines
}

// readOldForm returns the command of a line in the old form, or "".
func readOldForm(line string) string {
	if len(line) < len("proof of work:") {
		return ""
	}
	m := oldForm().FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	opened, closed, command := m[1] != "", m[2] != "" || m[3] != "", m[4]
	if opened && !closed { // the command is bold too
		command = strings.TrimSpace(strings.TrimSuffix(command, "**"))
	}
	if !opened && m[3] != "" { // the asterisks belong to the command
		command = "**" + command
	}
	return command
}

// commandDefinition returns the definition for a command in the old form.
func commandDefinition(command string) json.RawMessage {
	type shell struct {
		Command string  `json:"cmd"`
		Timeout float64 `json:"timeout_seconds"`
	}
	is := shell{command, oldDefaultTimeout}
	if m := oldTimeout().FindStringSubmatch(command); m != nil {
		is.Timeout, is.Command = oldSeconds(m[1], strings.ToLower(m[2])), m[3]
	}
	return mustEncode(struct {
		Type     string `json:"type"`
		Shell    shell  `json:"shell"`
		Required bool   `json:"required"`
	}{Shell, is, true})
}

// oldSeconds converts a time limit in the old form to seconds.
func oldSeconds(digits, unit string) float64 {
	const limit = 1e12 // keeps the product finite
	n, _ := strconv.ParseFloat(digits, 64)
	switch n = min(n, limit); {
	case n == 0:
		return oldDefaultTimeout
	case unit == "ms":
		return max(1, n/1000)
	default:
		return n * unitSeconds[unit]
	}
}
