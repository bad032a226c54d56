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

// The colours of the terminal that the page shows, whatever the browser's theme is. The style sheet
// has the same.
const (
	terminalInk    = 0xdddddd
	terminalGround = 0x111111
)

// terminalOf returns the screen of a planned message; nil: it has none.
func terminalOf(o channels.Outgoing) (*history.Terminal, error) {
	if len(o.Form) == 0 {
		return nil, nil
	}
	var t history.Terminal
	if err := json.Unmarshal(o.Form, &t); err != nil {
		return nil, fmt.Errorf("read the stored screen: %w", err)
	}
	return &t, nil
}

// renderOutgoing makes HTML of a planned message.
func renderOutgoing(o channels.Outgoing) string {
	t, err := terminalOf(o)
	if err != nil {
		t = nil // the text has the rows, too
	}
	return renderBody(o.Text, t)
}

// renderBody makes HTML of a message: of its text, or of the screen that it shows.
func renderBody(text string, t *history.Terminal) string {
	if t == nil || t.Screen == nil {
		return render(text)
	}
	return render(t.Caption) + screenHTML(t.Screen)
}

// screenHTML shows a screen as preformatted text. The page's policy allows no style attribute:
// colours are data attributes of six hexadecimal digits, which the page's script applies. All text
// is escaped.
func screenHTML(s *channels.Screen) string {
	var b strings.Builder
	b.WriteString(`<pre class="screen" role="group" aria-label="Terminal">` + "\n") // a line break there is not shown
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

// shownRun is a run with the colours that it has in the end; -1 is the terminal's own.
type shownRun struct {
	channels.ScreenRun
	ink, ground int
	cursor      bool
	trimmed     bool // blanks at the end were left out
}

// shownRuns returns the runs of a row without the blanks at its end that look like nothing.
func shownRuns(s *channels.Screen, row int) []shownRun {
	var runs []shownRun
	used, col := 0, 0
	for _, run := range s.Rows[row] {
		r := shownRun{ScreenRun: run, cursor: s.Cursor != nil && s.Cursor.Row == row && col <= s.Cursor.Col && s.Cursor.Col < col+run.Width}
		r.resolve()
		runs = append(runs, r)
		col += run.Width
		if !r.invisible() || strings.TrimRight(r.Text, " ") != "" {
			used = len(runs)
		}
	}
	if used > 0 && runs[used-1].invisible() {
		last := &runs[used-1]
		last.Text, last.trimmed = strings.TrimRight(last.Text, " "), true
	}
	return runs[:used]
}

// invisible reports whether blanks of the run look like nothing.
func (r *shownRun) invisible() bool { return r.ground < 0 && !r.Underline && !r.Strike }

// resolve finds the colours: the cursor and reversed text change ink and ground, which undo each
// other; faint ink is mixed with the ground; hidden ink is the ground.
func (r *shownRun) resolve() {
	ink, ground := rgb(r.Foreground), rgb(r.Background)
	if r.Reverse != r.cursor {
		ink, ground = or(ground, terminalGround), or(ink, terminalInk)
	}
	if r.Faint {
		ink = mix(or(ink, terminalInk), or(ground, terminalGround))
	}
	if r.Hidden && !r.cursor {
		r.Text = strings.Repeat(" ", r.Width)
	}
	r.ink, r.ground = ink, ground
}

func rgb(c channels.Color) int {
	if v, ok := c.RGB(); ok {
		return int(v)
	}
	return -1
}

func or(color, otherwise int) int {
	if color < 0 {
		return otherwise
	}
	return color
}

// mix is a colour between two, nearer to the first.
func mix(a, b int) int {
	part := func(shift int) int { return ((a>>shift&0xff)*3 + (b>>shift&0xff)*2) / 5 << shift }
	return part(16) | part(8) | part(0)
}

// writeRun writes a run with the elements that stand for its style.
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
	if r.ink >= 0 {
		span += fmt.Sprintf(` data-ink="%06x"`, r.ink)
	}
	if r.ground >= 0 {
		span += fmt.Sprintf(` data-ground="%06x"`, r.ground)
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
