package blocks

import (
	"fmt"
	"strings"
	"unicode"

	"nanobot/terminal/process"
)

// maxTaskLine limits the characters of the task in the header.
const maxTaskLine = 200

// The markers of the sections.
const (
	headerMarker   = "=== HEADER ==="
	protocolMarker = "=== PROTOCOL ==="
	contextMarker  = "=== CONTEXT ==="
	promptMarker   = "=== PROMPT ==="
)

// continuation is the prompt of every outbox but the first.
const continuation = `Continue working on the task based on the results above.
If the task is complete, send [DONE] with a summary.`

// workspaceFile is one file of the listing.
type workspaceFile struct {
	path string
	size int64
}

// fileListing is the workspace listing of an outbox: files sorted by path, and the number of
// further files.
type fileListing struct {
	shown []workspaceFile
	more  int
}

// requestedFile is a file requested by READ_FILE.
type requestedFile struct {
	path    string
	found   bool
	binary  bool
	size    int64
	content string
	cut     bool // the content is only the beginning of the file
}

// outbox is the message to the model in one round.
type outbox struct {
	session  string
	sequence int
	task     string
	earlier  []string // lines about the rounds before the last one
	files    fileListing
	results  []Result
	hints    []string
	contents []requestedFile
}

// text renders the four sections of the outbox, each after its marker, as valid UTF-8.
func (o outbox) text() string {
	prompt := o.task
	if o.sequence > 1 {
		prompt = continuation
	}
	var b strings.Builder
	for i, section := range []struct{ marker, body string }{
		{headerMarker, o.header()}, {protocolMarker, protocolText}, {contextMarker, o.context()}, {promptMarker, prompt},
	} {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(section.marker + "\n")
		b.WriteString(endLine(escapeMarkers(section.body)))
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

func (o outbox) header() string {
	return fmt.Sprintf("Session: %s\nSequence: %d\nTask: %s", o.session, o.sequence, o.taskLine())
}

// taskLine returns the first line of the task for the header.
func (o outbox) taskLine() string {
	task, _, _ := strings.Cut(strings.TrimSpace(o.task), "\n")
	return firstCharacters(strings.TrimSuffix(task, "\r"), maxTaskLine)
}

func (o outbox) context() string {
	var b strings.Builder
	// A model without memory would otherwise know only the first line of its task.
	if task := strings.TrimSpace(o.task); o.sequence > 1 && task != o.taskLine() {
		b.WriteString("## Task\n" + task + "\n\n")
	}
	if len(o.earlier) > 0 {
		b.WriteString(earlierHeading + "\n" + strings.Join(o.earlier, "\n") + "\n\n")
	}
	o.files.renderTo(&b)
	if o.sequence > 1 && len(o.results) > 0 {
		b.WriteString("\n## Previous Command Results\n")
		for _, r := range o.results {
			r.renderTo(&b)
		}
		for _, hint := range o.hints {
			b.WriteString("[HINT] " + hint + "\n")
		}
	}
	if o.sequence > 1 && len(o.contents) > 0 {
		b.WriteString("\n## Requested File Contents\n")
		for _, f := range o.contents {
			f.renderTo(&b)
		}
	}
	return b.String()
}

func (l fileListing) renderTo(b *strings.Builder) {
	b.WriteString("## Workspace Files\n")
	if len(l.shown) == 0 && l.more == 0 {
		b.WriteString("(empty workspace)\n")
	}
	for _, f := range l.shown {
		fmt.Fprintf(b, "  %s (%d bytes)\n", printable(f.path), f.size)
	}
	if l.more > 0 {
		fmt.Fprintf(b, "  ... and %d more files\n", l.more)
	}
}

// line returns the result without its output.
func (r Result) line() string {
	status := "FAILED"
	if r.Success {
		status = "OK"
	}
	return fmt.Sprintf("[%s] %s: %s", status, r.Type, r.Summary)
}

func (r Result) renderTo(b *strings.Builder) {
	b.WriteString(r.line() + "\n")
	if output := strings.TrimRightFunc(r.Output, unicode.IsSpace); output != "" {
		fmt.Fprintf(b, "  Output: %s\n", output)
	}
}

func (f requestedFile) renderTo(b *strings.Builder) {
	path := printable(f.path)
	switch {
	case !f.found:
		fmt.Fprintf(b, "--- %s --- (file not found or access denied)\n", path)
		return
	case f.binary:
		fmt.Fprintf(b, "--- %s --- (binary file, %d bytes)\n", path, f.size)
		return
	}
	content := f.content
	if f.cut {
		content = string(process.TrimPartialRune([]byte(content)))
	}
	fmt.Fprintf(b, "--- %s ---\n%s", path, endLine(content))
	if f.cut {
		fmt.Fprintf(b, "... (cut: these are the first %d of %d bytes)\n", len(content), f.size)
	}
	fmt.Fprintf(b, "--- end %s ---\n", path)
}

// endLine ends a text with a newline, unless it is empty.
func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// escapeMarkers indents every line that is a marker, so that tasks, command output and files cannot
// start a section.
func escapeMarkers(text string) string {
	if !strings.Contains(text, "=== ") {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		// Many programs show a carriage return as a line end.
		for part := range strings.SplitAfterSeq(line, "\r") {
			switch strings.TrimRight(part, "\r\n") {
			case headerMarker, protocolMarker, contextMarker, promptMarker:
				b.WriteByte(' ')
			}
			b.WriteString(part)
		}
	}
	return b.String()
}

// printable replaces control characters and line separators in a path.
func printable(path string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) {
			return '?'
		}
		return r
	}, path)
}

// firstCharacters returns at most n characters of a text.
func firstCharacters(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
