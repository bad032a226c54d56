package discord

import (
	"regexp"
	"strings"
)

// native writes Markdown as Discord shows it. Most is the same. Discord has three levels of
// headings, no tables, and fences of exactly three backticks; and three angle brackets quote all
// that follows.
func native(markdown string) string {
	if strings.TrimSpace(markdown) == "" {
		return markdown
	}
	lines := strings.Split(strings.ReplaceAll(markdown, "\r\n", "\n"), "\n")
	var out []string
	var prose []int // pairs of the first line of a stretch that is no code, and the line behind it
	for i := 0; i < len(lines); {
		if f, ok := openFence(lines[i]); ok {
			var code []string
			code, i = f.read(lines, i)
			out = append(out, code...)
			continue
		}
		if n := len(prose); n == 0 || prose[n-1] != len(out) {
			prose = append(prose, len(out), len(out))
		}
		if t, next := readTable(lines, i); t != nil {
			out = append(out, t.render()...)
			i = next
		} else {
			out = append(out, nativeLine(lines[i]))
			i++
		}
		prose[len(prose)-1] = len(out)
	}
	return unmask(out, prose)
}

// unmask marks links that show another address than they lead to. Backticks outside of blocks of
// code could turn code and prose around: then all is taken for prose.
func unmask(lines []string, prose []int) string {
	for i := 0; i < len(prose); i += 2 {
		if strings.Contains(strings.Join(lines[prose[i]:prose[i+1]], "\n"), "```") {
			return markLinks(strings.Join(lines, "\n"))
		}
	}
	var parts []string
	last := 0
	for i := 0; i < len(prose); i += 2 {
		parts = append(parts, lines[last:prose[i]]...)
		parts = append(parts, markLinks(strings.Join(lines[prose[i]:prose[i+1]], "\n")))
		last = prose[i+1]
	}
	return strings.Join(append(parts, lines[last:]...), "\n")
}

var deepHeading = regexp.MustCompile(`^ {0,3}#{4,6}[ \t]+(.*?)[ \t]*#*[ \t]*$`)

func nativeLine(line string) string {
	if strings.HasPrefix(line, ">>>") {
		return `\` + line
	}
	if m := deepHeading.FindStringSubmatch(line); m != nil && strings.Trim(m[1], "*_ ") != "" {
		return "**" + strings.ReplaceAll(m[1], "**", "") + "**"
	}
	return line
}

// lookalike stands for backticks in code: Greek accents of the same shape.
const lookalike = "\u1fef\u1fef\u1fef"

// fence is the line that opens a block of code.
type fence struct {
	indent string // white space that is none of the code
	quote  string // what leads each line if the block is quoted
	run    string // of backticks or tildes
	info   string
}

var (
	fenceLine = regexp.MustCompile("^([ \t>]*)(`{3,}|~{3,})[ \t]*([^`]*)$")
	// language is what Discord takes for one, behind the backticks.
	language = regexp.MustCompile(`^[A-Za-z0-9_+.#-]+`)
)

func openFence(line string) (fence, bool) {
	m := fenceLine.FindStringSubmatch(line)
	if m == nil {
		return fence{}, false
	}
	if strings.Contains(m[1], ">") {
		return fence{quote: m[1], run: m[2], info: m[3]}, true
	}
	return fence{indent: m[1], run: m[2], info: m[3]}, true
}

// shuts tells whether a line closes the block.
func (f fence) shuts(line string) bool {
	m := fenceLine.FindStringSubmatch(line)
	return m != nil && m[2][0] == f.run[0] && len(m[2]) >= len(f.run) && strings.TrimSpace(m[3]) == ""
}

// read returns the block at a line as Discord takes it, closed even where its author has not, and
// the line behind it. It is not indented, as it may be in a list, since Discord has no code in
// lists. Backticks in the code would end it: they are written as accents that look alike.
func (f fence) read(lines []string, i int) ([]string, int) {
	out := []string{f.quote + "```" + language.FindString(f.info)}
	for i++; i < len(lines) && !f.shuts(lines[i]); i++ {
		line := lines[i]
		for range len(f.indent) {
			line = strings.TrimPrefix(line, " ")
		}
		out = append(out, strings.ReplaceAll(line, "```", lookalike))
	}
	if i == len(lines) { // the empty lines that end the text are none of the code
		for len(out) > 1 && strings.TrimSpace(out[len(out)-1]) == "" {
			out = out[:len(out)-1]
		}
	}
	return append(out, f.quote+"```"), i + 1
}
