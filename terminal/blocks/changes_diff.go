package blocks

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"nanobot/internal/linediff"
)

// maxCompared is how large each of two contents may be to be compared by lines.
const maxCompared = 2 << 20

// diff returns what the session has changed so far, the saved copies against the files as they are
// now, as a unified diff with the headers of git. Files whose difference does not fit into as many
// bytes as most says are omitted, and counted; a negative number means no bound.
func (c *changes) diff(most int64) (text string, omitted int) {
	l := c.w.newLookup()
	var out strings.Builder
	for _, f := range slices.SortedFunc(slices.Values(c.list), func(a, b change) int { return strings.Compare(a.File, b.File) }) {
		if f.Recorded && f.Before == f.After {
			continue
		}
		difference, err := c.compare(l, f)
		if err != nil {
			difference = fmt.Sprintf("%s cannot be compared: %s\n", diffName("", f.File), reason(err))
		}
		if most >= 0 && int64(out.Len()+len(difference)) > most {
			omitted++
			continue
		}
		out.WriteString(difference)
	}
	return out.String(), omitted
}

// compare returns the difference of one file, "" if there is none.
func (c *changes) compare(l *lookup, f change) (string, error) {
	now, err := c.state(l, f.File)
	if err != nil || now == f.Before {
		return "", err
	}
	before, cut, err := c.contentBefore(f)
	if err != nil {
		return "", err
	}
	after, cutAfter, err := l.contentNow(f.File, now)
	if err != nil {
		return "", err
	}
	a, b := diffName("a/", f.File), diffName("b/", f.File)
	if f.Before == (state{}) {
		a = "/dev/null"
	}
	if now == (state{}) {
		b = "/dev/null"
	}
	switch {
	case isBinary(before), isBinary(after):
		return fmt.Sprintf("Binary files %s and %s differ\n", a, b), nil
	case cut, cutAfter:
		return fmt.Sprintf("Files %s and %s differ (too large to be compared by lines)\n", a, b), nil
	}
	return fmt.Sprintf("--- %s\n+++ %s\n%s", a, b, linediff.Compare(string(before), string(after)).Unified()), nil
}

// contentBefore returns what a file or a link was before the session, and whether that is cut. What
// is cut is not checked and must not be shown.
func (c *changes) contentBefore(f change) (content []byte, cut bool, err error) {
	if f.Before.Sum == "" {
		return []byte(f.Before.Link), false, nil
	}
	from, _, err := c.openCopy(f)
	if err != nil {
		return nil, false, err
	}
	defer from.Close()
	var head bytes.Buffer
	sum, err := sumOf(&head, io.LimitReader(from, maxCompared+1))
	if cut = head.Len() > maxCompared; err == nil && !cut && sum != f.Before.Sum {
		err = errCopy
	}
	return head.Bytes(), cut, err
}

// contentNow returns what a file or a link is now.
func (l *lookup) contentNow(file string, now state) (content []byte, cut bool, err error) {
	if now.Sum == "" {
		return []byte(now.Link), false, nil
	}
	f, _, err := l.openFile(file)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, maxCompared+1))
	return content, len(content) > maxCompared, err
}

// isBinary reports whether a content cannot be shown as lines. The last character may be cut.
func isBinary(content []byte) bool {
	return bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) && len(content) <= maxCompared
}

// diffName writes the name of a file as git does: in quotes if it could be mistaken for more than a
// name, and with a tab behind it if it has a blank.
func diffName(side, file string) string {
	name := side + file
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' || r == utf8.RuneError }):
		return strconv.Quote(name)
	case strings.Contains(name, " "):
		return name + "\t"
	}
	return name
}
