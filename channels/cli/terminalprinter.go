package cli

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/rivo/uniseg"

	"nanobot/channels"
	"nanobot/internal/words"
)

// eraseLine moves to the start of the terminal's line and erases it.
const eraseLine = "\r\x1b[K"

// TerminalPrinter prints for people on a terminal: it renders Markdown, wraps lines between words,
// and shows progress, or the end of an answer that is being written, on one line that is
// overwritten.
type TerminalPrinter struct {
	Out   io.Writer
	Width func() int // columns of the terminal
	Lines bool       // progress is printed as lines of its own
	Style bool       // SGR codes may be used
	Words words.Words

	mu            sync.Mutex
	progressShown bool // a progress line is shown
}

// Show prints a message, over the progress line if there is one.
func (p *TerminalPrinter) Show(o channels.Outgoing) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case o.Kind == channels.Draft && p.Lines:
		return nil // the whole answer follows
	case o.Kind == channels.Draft:
		return p.showProgress(fitEnd(lastLine(channels.SanitizeBidiText(o.Text)), p.Width()-1))
	case o.Kind == channels.Progress && !p.Lines:
		return p.showProgress(fitLine(channels.SanitizeBidiText(o.Text), p.Width()-1))
	}
	if err := p.clearProgress(); err != nil {
		return err
	}
	_, err := io.WriteString(p.Out, p.render(o)+fileLines(o, p.Words)+buttonLines(o))
	return err
}

// showProgress shows a line that the next one overwrites.
func (p *TerminalPrinter) showProgress(line string) error {
	p.progressShown = true
	_, err := io.WriteString(p.Out, eraseLine+line)
	return err
}

// render returns the text of a message as lines, which fit into the width except in code and
// tables. A text with control characters of its own, such as the colours of a program, and a screen
// are neither rendered as Markdown nor wrapped.
func (p *TerminalPrinter) render(o channels.Outgoing) string {
	caption, screen := o.Text, ""
	if o.Form != nil {
		var f screenForm
		if err := json.Unmarshal(o.Form, &f); err == nil {
			caption, screen = f.Caption, f.Screen
		}
	}
	caption = channels.SanitizeBidiText(caption)
	switch {
	case caption == "" || hasControlCharacters(caption):
	case o.Format == channels.Markdown:
		caption = cmp.Or(renderMarkdown(caption, p.Width(), p.Style), caption)
	case o.Format == channels.Literal:
		caption = wrapText(caption, p.Width())
	}
	if caption == "" {
		screen = strings.TrimLeft(screen, "\n")
	}
	return endLine(caption) + endLine(channels.SanitizeBidiText(screen))
}

// hasControlCharacters reports whether a text has control characters other than line breaks and
// tabs.
func hasControlCharacters(text string) bool {
	return strings.ContainsFunc(strings.ReplaceAll(text, "\r\n", "\n"), func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t'
	})
}

// Clear removes the progress line. It is called when the turn has ended.
func (p *TerminalPrinter) Clear() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clearProgress()
}

// AboveProgress returns a writer to the same terminal, for example for a log, that first removes
// the progress line.
func (p *TerminalPrinter) AboveProgress(w io.Writer) io.Writer { return aboveProgress{p, w} }

type aboveProgress struct {
	live *TerminalPrinter
	w    io.Writer
}

func (b aboveProgress) Write(p []byte) (int, error) {
	b.live.mu.Lock()
	defer b.live.mu.Unlock()
	if err := b.live.clearProgress(); err != nil {
		return 0, err
	}
	return b.w.Write(p)
}

func (p *TerminalPrinter) clearProgress() error {
	if !p.progressShown {
		return nil
	}
	p.progressShown = false
	_, err := io.WriteString(p.Out, eraseLine)
	return err
}

// lastLine returns the last line of a text that is not blank.
func lastLine(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// fitEnd returns the end of a line, in at most width columns.
func fitEnd(line string, width int) string {
	line = strings.Join(strings.Fields(line), " ")
	total := uniseg.StringWidth(line)
	if total <= width {
		return line
	}
	g := uniseg.NewGraphemes(line)
	for total > max(width-1, 0) && g.Next() {
		total -= g.Width()
	}
	_, end := g.Positions()
	return "…" + line[end:]
}

// fitLine returns a text as one line of at most width columns.
func fitLine(text string, width int) string {
	text = strings.Join(strings.Fields(text), " ")
	if uniseg.StringWidth(text) <= width {
		return text
	}
	var b strings.Builder
	for g, used := uniseg.NewGraphemes(text), 1; g.Next(); {
		if used += g.Width(); used > width {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}
