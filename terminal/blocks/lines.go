package blocks

import (
	"bytes"
	"slices"
	"strings"
)

// replaceLines replaces the lines from start to end by body, and returns how many lines the content
// had. Lines are counted from 1 and end at \n, \r\n or \r. ok is false if the range does not start
// within the content.
func replaceLines(content []byte, start, end int, body string) (edited []byte, lines int, ok bool) {
	newline, from, to := "\n", 0, 0 // the range is content[from:to]
	for at := 0; at < len(content); {
		lines++
		length, lineEnd := cutLine(content[at:])
		if lines == 1 && lineEnd != "" {
			newline = lineEnd
		}
		if lines == start {
			from = at
		}
		at += length + len(lineEnd)
		if lines <= end {
			to = at
		}
	}
	if start < 1 || end < start || start > lines {
		return nil, lines, false
	}
	replacement := strings.ReplaceAll(body, "\n", newline) + newline
	// With mixed line ends, an adjacent \r and \n would become one line end.
	if bytes.HasSuffix(content[:from], []byte("\r")) && replacement[0] == '\n' {
		replacement = "\r" + replacement
	}
	if newline == "\r" && bytes.HasPrefix(content[to:], []byte("\n")) {
		replacement += "\n"
	}
	edited = slices.Concat(content[:from], []byte(replacement), content[to:])
	if last := edited[len(edited)-1]; last != '\n' && last != '\r' {
		edited = append(edited, newline...)
	}
	return edited, lines, true
}

// cutLine returns the length of the first line and its line end, "" at the end of the content.
func cutLine(content []byte) (length int, lineEnd string) {
	length = bytes.IndexAny(content, "\r\n")
	switch {
	case length < 0:
		return len(content), ""
	case content[length] == '\n':
		return length, "\n"
	case bytes.HasPrefix(content[length+1:], []byte("\n")):
		return length, "\r\n"
	default:
		return length, "\r"
	}
}
