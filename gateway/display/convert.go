package display

import (
	"nanobot/channels"
	"nanobot/gateway/press"
	"nanobot/terminal"
)

// Screen converts a terminal screen; nil stays nil.
func Screen(s *terminal.Screen) *channels.Screen {
	if s == nil {
		return nil
	}
	out := &channels.Screen{Cols: s.Cols, Rows: make([][]channels.ScreenRun, len(s.Lines))}
	if s.CursorVisible {
		out.Cursor = &channels.ScreenCell{Col: s.CursorCol, Row: s.CursorRow}
	}
	for i, line := range s.Lines {
		runs := make([]channels.ScreenRun, len(line))
		for j, run := range line {
			style := run.Style
			runs[j] = channels.ScreenRun{
				Text: run.Text, Width: run.Width, Foreground: color(style.Ink()), Background: color(style.Background),
				Bold: style.Bold, Faint: style.Faint, Italic: style.Italic, Underline: style.Underline,
				Blink: style.Blink, Reverse: style.Reverse, Hidden: style.Hidden, Strike: style.Strike,
			}
		}
		out.Rows[i] = runs
	}
	return out
}

func color(c interface {
	RGB() (r, g, b uint8, ok bool)
},
) channels.Color {
	r, g, b, ok := c.RGB()
	if !ok {
		return 0
	}
	return channels.RGB(r, g, b)
}

// Buttons converts the control buttons of a protocol. They stay after they are pressed. A command
// that is too long for a button is omitted; it can be typed.
func Buttons(all []terminal.ControlButton) []channels.Button {
	var out []channels.Button
	for _, b := range all {
		if len(b.Command) < press.MaxData { // a button that stays has a byte less
			out = append(out, channels.Button{Label: b.Label, Data: press.Type(b.Command), Stays: true})
		}
	}
	return out
}
