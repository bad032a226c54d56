package terminal

import (
	"regexp"
	"strings"
)

// Format is what the text of a frame is written in. The zero value is Markdown.
type Format string

// The formats of a text.
const (
	FormatMarkdown Format = ""
	FormatText     Format = "text" // every character is shown as it is
	FormatCode     Format = "code" // the same, in one monospaced block
)

// The other values of terminal.format.
const (
	FormatSettingAuto     = "auto"
	FormatSettingMarkdown = "markdown"
)

// FormatOf returns the format of a text that an agent has printed.
func (f FinalOptions) FormatOf(text string) Format {
	switch f.Format {
	case FormatSettingAuto:
		return DetectFormat(text)
	case string(FormatText), string(FormatCode):
		return Format(f.Format)
	}
	return FormatMarkdown
}

// DetectFormat returns the format in which a text looks right. The first of these rules that
// applies decides:
//
//  1. A diff, recognized by its line "@@ -1,2 +1,2 @@", is code: its lines begin with - and +.
//  2. Fences, tables and lists make a text Markdown. A list has at least two items that begin
//     with -, * or a number in the first column. The lines of git log --graph and of a crontab are
//     no items, and a list is YAML if one of its items goes on with "key: value" below.
//  3. A line that begins with a blank, or that has two blanks or a tab inside, makes it code,
//     because its columns matter.
//  4. Anything else is text.
//
// Only the beginning of a very long text is examined.
func DetectFormat(text string) Format {
	lines := strings.Split(text[:min(len(text), examinedBytes)], "\n")
	switch {
	case hasLine(lines, diffHunk):
		return FormatCode
	case hasFence(lines), hasTable(lines), hasList(lines):
		return FormatMarkdown
	case hasColumns(lines):
		return FormatCode
	}
	return FormatText
}

// examinedBytes limits the work. No network shows more of a text than about this in its messages.
const examinedBytes = 64 << 10

var (
	diffHunk   = regexp.MustCompile(`^@@+ (-\d+(,\d+)? )+\+\d+(,\d+)? @@+`)
	codeFence  = regexp.MustCompile("^ {0,3}```[^`]*$")
	tildeFence = regexp.MustCompile(`^ {0,3}~~~`)
	tableRule  = regexp.MustCompile(`^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)
	listItem   = regexp.MustCompile(`^([-*]|\d{1,3}[.)])[ \t]+\S`)
	notAnItem  = regexp.MustCompile(`^\*[ \t]+([|\\/]|[*/\d,-]+([ \t]+[*/\d,-]+){3}[ \t]|(commit )?[0-9a-f]{7,64}\b)|^([-*][ \t]*){3,}$`)
	yamlItem   = regexp.MustCompile(`^-[ \t]+[\w.-]+:([ \t]|$)`)
	yamlPair   = regexp.MustCompile(`^[ \t]+[\w.-]+:([ \t]|$)`)
)

func hasLine(lines []string, pattern *regexp.Regexp) bool {
	for _, line := range lines {
		if pattern.MatchString(line) {
			return true
		}
	}
	return false
}

// hasFence reports whether a code block begins. A fence of tildes needs its end: tildes also
// underline titles and the places of errors.
func hasFence(lines []string) bool {
	tildes := 0
	for i, line := range lines {
		switch {
		case codeFence.MatchString(line):
			return true
		case tildeFence.MatchString(line) && (tildes > 0 || i == 0 || isBlank(lines[i-1])):
			tildes++
		}
	}
	return tildes > 1
}

// hasTable reports whether a row of dashes is below a row with as many cells.
func hasTable(lines []string) bool {
	for i, line := range lines {
		if i > 0 && strings.Contains(line, "|") && tableRule.MatchString(line) && cellCount(lines[i-1]) == cellCount(line) {
			return true
		}
	}
	return false
}

func cellCount(row string) int {
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	return 1 + strings.Count(row, "|") - strings.Count(row, `\|`)
}

func hasList(lines []string) bool {
	items, yaml := 0, 0
	for i, line := range lines {
		if !listItem.MatchString(line) || notAnItem.MatchString(line) {
			continue
		}
		items++
		if yamlItem.MatchString(line) && i+1 < len(lines) && yamlPair.MatchString(lines[i+1]) {
			yaml++
		}
	}
	return items > 1 && yaml < items
}

func hasColumns(lines []string) bool {
	for _, line := range lines {
		line = strings.TrimRight(strings.ReplaceAll(line, "\u00a0", " "), " \t\r") // tree prints no-break spaces
		if line != "" && (line[0] == ' ' || strings.Contains(line, "  ") || strings.Contains(line, "\t")) {
			return true
		}
	}
	return false
}

func isBlank(line string) bool { return strings.Trim(line, " \t\r") == "" }
