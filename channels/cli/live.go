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
)

// eraseLine returns to the start of a terminal's line and empties it.
const eraseLine = "\r\x1b[K"

// Live prints for people on a terminal: Markdown is rendered, and progress stays on one line that
// is overwritten.
type Live struct {
	Out   io.Writer
	Width func() int // columns of the terminal
	Lines bool       // progress scrolls like any message
	Style bool       // bold, colours and the like may be used

	mu   sync.Mutex
	busy bool // a progress line is shown
}

// Show prints one message, over the progress line if there is one.
func (p *Live) Show(o channels.Outgoing) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.Kind == channels.Progress && !p.Lines {
		p.busy = true
		_, err := io.WriteString(p.Out, eraseLine+fit(channels.SanitizeBidiText(o.Text), p.Width()-1))
		return err
	}
	if err := p.clear(); err != nil {
		return err
	}
	_, err := io.WriteString(p.Out, p.render(o)+files(o))
	return err
}

// render returns the text of a message as lines. What comes with control characters of its own,
// such as the colours of a program, and what a screen shows is left as it is.
func (p *Live) render(o channels.Outgoing) string {
	caption, screen := o.Text, ""
	if o.Form != nil {
		var f screenForm
		if err := json.Unmarshal(o.Form, &f); err == nil {
			caption, screen = f.Caption, f.Screen
		}
	}
	caption = channels.SanitizeBidiText(caption)
	if caption != "" && !controls(caption) {
		caption = cmp.Or(renderMarkdown(caption, p.Width(), p.Style), caption)
	}
	if caption == "" {
		screen = strings.TrimLeft(screen, "\n")
	}
	return lines(caption) + lines(channels.SanitizeBidiText(screen))
}

// controls tells whether a text has control characters other than those that lay out lines.
func controls(text string) bool {
	return strings.ContainsFunc(strings.ReplaceAll(text, "\r\n", "\n"), func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t'
	})
}

// Clear removes the progress line. Call it when the turn has ended.
func (p *Live) Clear() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clear()
}

// Beside returns a writer to the same terminal, such as a log's, that does not write into the
// progress line.
func (p *Live) Beside(w io.Writer) io.Writer { return beside{p, w} }

type beside struct {
	live *Live
	w    io.Writer
}

func (b beside) Write(p []byte) (int, error) {
	b.live.mu.Lock()
	defer b.live.mu.Unlock()
	if err := b.live.clear(); err != nil {
		return 0, err
	}
	return b.w.Write(p)
}

func (p *Live) clear() error {
	if !p.busy {
		return nil
	}
	p.busy = false
	_, err := io.WriteString(p.Out, eraseLine)
	return err
}

// fit makes text one line of at most width columns.
func fit(text string, width int) string {
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
