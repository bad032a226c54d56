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
	"nanobot/internal/words"
)

// maxCompared limits each of two contents that are compared by lines.
const maxCompared = 2 << 20

// diff returns the changes of the session, from the saved copies to the current files, as a unified
// diff with git's headers. Files whose diff would exceed limit bytes are omitted and counted.
func (c *changes) diff(limit int64) (text string, omitted int) {
	l := c.workspace.newLookup()
	var out strings.Builder
	for _, f := range slices.SortedFunc(slices.Values(c.list),
		func(a, b change) int { return strings.Compare(a.File, b.File) }) {
		if f.Recorded && f.Before == f.After {
			continue
		}
		difference, err := c.diffFile(l, f)
		if err != nil {
			difference = fmt.Sprintf("%s cannot be compared: %s\n", diffName("", f.File), errorReason(words.Words{}, err))
		}
		if int64(out.Len()+len(difference)) > limit {
			omitted++
			continue
		}
		out.WriteString(difference)
	}
	return out.String(), omitted
}

// diffFile returns the diff of one file, or "" if the file has not changed.
func (c *changes) diffFile(l *lookup, f change) (string, error) {
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
	if f.Before == (entryState{}) {
		a = "/dev/null"
	}
	if now == (entryState{}) {
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

// contentBefore returns the content of a file, or the target of a link, before the session, and
// whether it is truncated. Truncated content is not verified and must not be shown.
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
	sum, err := copyAndHash(&head, io.LimitReader(from, maxCompared+1))
	if cut = head.Len() > maxCompared; err == nil && !cut && sum != f.Before.Sum {
		err = errCopyChanged
	}
	return head.Bytes(), cut, err
}

// contentNow returns the current content of a file or the target of a link.
func (l *lookup) contentNow(file string, now entryState) (content []byte, cut bool, err error) {
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

// isBinary reports whether a content cannot be shown as lines. Truncated content may end within a
// character.
func isBinary(content []byte) bool {
	return bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) && len(content) <= maxCompared
}

// diffName writes a file name as git does: quoted if it has special characters, and followed by a
// tab if it has a blank.
func diffName(side, file string) string {
	name := side + file
	switch {
	case strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '"' || r == '\\' ||
			r == utf8.RuneError
	}):
		return strconv.Quote(name)
	case strings.Contains(name, " "):
		return name + "\t"
	}
	return name
}
