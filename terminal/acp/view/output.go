package view

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"nanobot/terminal"
)

// maxLinks limits the links of one message that are examined.
const maxLinks = 200

// output is the frames that a view emits.
type output struct {
	turn     terminal.Turn
	dir      string // the agent's working folder
	err      error  // the first error of Emit
	answered bool   // the agent has sent a text or a file
}

func (o *output) emit(f terminal.Frame) {
	if o.err != nil {
		return
	}
	if err := o.turn.Emit(f); err != nil {
		o.err = fmt.Errorf("emit %s: %w", f.Kind, err)
	}
}

func (o *output) log(level, format string, args ...any) {
	o.emit(terminal.Frame{Kind: terminal.Log, Level: level, Text: fmt.Sprintf(format, args...)})
}

// boardHidden reports whether the chat does not show the board.
func (o *output) boardHidden() bool { return o.turn.BoardHidden() }

// emitText sends a message, with the files that it links to, which notifies nobody, because more of
// the turn follows.
func (o *output) emitText(text string) {
	if text = terminal.TrimText(text); text != "" {
		f := o.answerFrame(text)
		f.Silent, o.answered = true, true
		o.emit(f)
	}
}

// answerFrame returns a message of the agent with the files that its text links to.
func (o *output) answerFrame(text string) terminal.Frame {
	links := o.linkedFiles(text)
	return terminal.Frame{Kind: terminal.Message, Text: text, Links: links, GroupDocuments: len(links) > 0}
}

// linkedFiles returns the absolute paths of the files that a text links to, without references to
// code. The files may not exist.
func (o *output) linkedFiles(text string) (paths []string) {
	for i, link := range o.turn.FindLinks(text) {
		if i == maxLinks {
			break
		}
		if !refersToCode(link) {
			paths = append(paths, linkPaths(link.URL, o.dir)...)
		}
	}
	return paths
}

// linkPaths returns the file that a URL names: a file URL of this machine, an absolute path, or a
// path relative to dir. A path may be percent-encoded or have a percent sign in its name, so both
// files are returned.
func linkPaths(link, dir string) []string {
	if path, ok := localPath(link); ok && !filepath.IsAbs(link) {
		return []string{path}
	}
	if u, err := url.Parse(link); link == "" || err == nil && (u.Scheme != "" || u.Host != "") {
		return nil
	}
	paths := []string{link}
	if decoded, err := url.PathUnescape(link); err == nil && decoded != link {
		paths = append(paths, decoded)
	}
	for i, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		paths[i] = filepath.Clean(path)
	}
	return paths
}

// refersToCode reports whether a link points to a place within a file, by a line number or an
// anchor: such a link explains the agent's work, and nobody wants the file.
func refersToCode(link terminal.Link) bool {
	if strings.ContainsAny(link.URL, "#?") {
		return true
	}
	if _, numbered := cutLineNumber(link.URL); numbered {
		return true
	}
	shown, _, anchored := strings.Cut(strings.TrimSpace(link.Text), "#L")
	shown, numbered := cutLineNumber(shown)
	return (anchored || numbered) && filepath.Base(shown) == fileName(link.URL)
}

// cutLineNumber returns a path without its line number, as in a.go:12, a.go:12:5 and a.go:12-20,
// and whether it has one.
func cutLineNumber(path string) (before string, found bool) {
	name := strings.TrimRight(path, "0123456789:-,LC")
	rest := path[len(name):]
	i := strings.IndexByte(rest, ':')
	if i < 0 || !strings.ContainsAny(rest[i:], "0123456789") {
		return path, false
	}
	return name + rest[:i], true
}
