package web

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/web/history"
)

// The default colours of a terminal on the page, in every theme. The style sheet has the same.
const (
	defaultForeground = 0xdddddd
	defaultBackground = 0x111111
)

// decodeTerminal returns the caption and the screen of a planned message; nil means none.
func decodeTerminal(o channels.Outgoing) (*history.Terminal, error) {
	if len(o.Form) == 0 {
		return nil, nil
	}
	var t history.Terminal
	if err := json.Unmarshal(o.Form, &t); err != nil {
		return nil, fmt.Errorf("read the stored screen: %w", err)
	}
	return &t, nil
}

// renderOutgoing returns the HTML of a planned message.
func renderOutgoing(o channels.Outgoing) string {
	t, err := decodeTerminal(o)
	if err != nil {
		t = nil // the text also has the rows
	}
	return renderBody(history.Body{Text: o.Text, Format: o.Format, Terminal: t, Details: o.Details})
}

// renderBody returns the HTML of a message: its text, or its caption and screen, and the details.
func renderBody(b history.Body) string {
	out := ""
	if t := b.Terminal; t == nil || t.Screen == nil {
		out = renderText(b.Text, b.Format)
	} else {
		out = renderText(t.Caption, b.Format) + renderScreen(t.Screen)
	}
	if b.Details != "" {
		out += "<details><summary>Details</summary>" + renderText(b.Details, channels.Markdown) + "</details>"
	}
	return out
}

// renderScreen returns a screen as preformatted HTML. The page's content security policy allows no
// style attributes, so colours are data attributes of six hexadecimal digits, which the page's
// script applies. All text is escaped.
func renderScreen(s *channels.Screen) string {
	var b strings.Builder
	// HTML ignores a line break directly after <pre>
	b.WriteString(`<pre class="screen" role="group" aria-label="Terminal">` + "\n")
	last := len(s.Rows)
	for last > 0 && len(shownRuns(s, last-1)) == 0 {
		last--
	}
	for i := range last {
		for _, run := range shownRuns(s, i) {
			writeRun(&b, run)
		}
		b.WriteByte('\n')
	}
	b.WriteString("</pre>")
	return b.String()
}

// shownRun is a run with its final colours; -1 is the terminal's default.
type shownRun struct {
	channels.ScreenRun
	foreground, background int
	cursor                 bool
	trimmed                bool // trailing blanks were removed
}

// shownRuns returns the runs of a row without invisible trailing blanks.
func shownRuns(s *channels.Screen, row int) []shownRun {
	var runs []shownRun
	used, col := 0, 0
	for _, run := range s.Rows[row] {
		r := shownRun{ScreenRun: run, cursor: s.Cursor != nil && s.Cursor.Row == row && col <= s.Cursor.Col &&
			s.Cursor.Col < col+run.Width}
		r.resolveColors()
		runs = append(runs, r)
		col += run.Width
		if !r.blanksInvisible() || strings.TrimRight(r.Text, " ") != "" {
			used = len(runs)
		}
	}
	if used > 0 && runs[used-1].blanksInvisible() {
		last := &runs[used-1]
		last.Text, last.trimmed = strings.TrimRight(last.Text, " "), true
	}
	return runs[:used]
}

// blanksInvisible reports whether blanks of the run are invisible.
func (r *shownRun) blanksInvisible() bool { return r.background < 0 && !r.Underline && !r.Strike }

// resolveColors sets the colours. The cursor and reversed text each swap foreground and background,
// so together they cancel out. A faint foreground is mixed with the background. Hidden text is
// replaced by blanks.
func (r *shownRun) resolveColors() {
	foreground, background := rgb(r.Foreground), rgb(r.Background)
	if r.Reverse != r.cursor {
		foreground, background = orDefault(background, defaultBackground), orDefault(foreground, defaultForeground)
	}
	if r.Faint {
		foreground = mixColors(orDefault(foreground, defaultForeground), orDefault(background, defaultBackground))
	}
	if r.Hidden && !r.cursor {
		r.Text = strings.Repeat(" ", r.Width)
	}
	r.foreground, r.background = foreground, background
}

func rgb(c channels.Color) int {
	if v, ok := c.RGB(); ok {
		return int(v)
	}
	return -1
}

func orDefault(color, otherwise int) int {
	if color < 0 {
		return otherwise
	}
	return color
}

// mixColors returns a colour between two, nearer to the first.
func mixColors(a, b int) int {
	part := func(shift int) int { return ((a>>shift&0xff)*3 + (b>>shift&0xff)*2) / 5 << shift }
	return part(16) | part(8) | part(0)
}

// writeRun writes a run with the tags of its style.
func writeRun(b *strings.Builder, r shownRun) {
	var tags []string
	for _, t := range []struct {
		on  bool
		tag string
	}{{r.Bold, "b"}, {r.Italic, "em"}, {r.Underline, "u"}, {r.Strike, "s"}} {
		if t.on {
			tags = append(tags, t.tag)
		}
	}
	span := ""
	if r.cursor {
		span = ` class="cursor"`
	}
	if r.foreground >= 0 {
		span += fmt.Sprintf(` data-ink="%06x"`, r.foreground)
	}
	if r.background >= 0 {
		span += fmt.Sprintf(` data-ground="%06x"`, r.background)
	}
	if n := utf8.RuneCountInString(r.Text); n != r.Width && n > 0 && !r.trimmed {
		// Wide characters come from fonts whose widths differ from that of the terminal's font.
		span += fmt.Sprintf(` data-cols="%d"`, r.Width)
	}
	if span != "" {
		b.WriteString("<span" + span + ">")
	}
	for _, tag := range tags {
		b.WriteString("<" + tag + ">")
	}
	b.WriteString(html.EscapeString(r.Text))
	for i := len(tags) - 1; i >= 0; i-- {
		b.WriteString("</" + tags[i] + ">")
	}
	if span != "" {
		b.WriteString("</span>")
	}
}
