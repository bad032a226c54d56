package cli

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"

	"nanobot/channels"
)

// eraseLine returns to the start of a terminal's line and empties it.
const eraseLine = "\r\x1b[K"

// Live prints for people on a terminal: progress stays on one line that is overwritten.
type Live struct {
	Out   io.Writer
	Width func() int // columns of the terminal
	Lines bool       // progress scrolls like any message
	busy  bool       // a progress line is shown
}

// Show prints one message, over the progress line if there is one.
func (p *Live) Show(o channels.Outgoing) error {
	if o.Kind == channels.Progress && !p.Lines {
		p.busy = true
		_, err := io.WriteString(p.Out, eraseLine+fit(o.Text, p.Width()-1))
		return err
	}
	if err := p.Clear(); err != nil {
		return err
	}
	_, err := io.WriteString(p.Out, block(o))
	return err
}

// Clear removes the progress line. Call it when the turn has ended.
func (p *Live) Clear() error {
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
