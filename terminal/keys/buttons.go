package keys

import (
	"slices"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// otherKeys stands for the keys of the other row in place of a key's name.
const otherKeys = "…"

// keyRows are the buttons under a screen that press keys. The last button of each row shows the
// other row. The labels are short, so that a row fits the width of a phone.
var keyRows = [2][]terminal.ControlButton{
	{
		{Label: "⏎", Command: "/key Enter"},
		{Label: "Esc", Command: "/key Escape"},
		{Label: "Tab", Command: "/key Tab"},
		{Label: "↑", Command: "/key Up"},
		{Label: "↓", Command: "/key Down"},
		{Label: "^C", Command: "/key C-c"},
		{Label: otherKeys, Command: "/key " + otherKeys},
	},
	{
		{Label: "←", Command: "/key Left"},
		{Label: "→", Command: "/key Right"},
		{Label: "PgUp", Command: "/key PageUp"},
		{Label: "PgDn", Command: "/key PageDown"},
		{Label: otherKeys, Command: "/key " + otherKeys},
	},
}

// fitButton gives the terminal the size that fits the person's screen.
var fitButton = terminal.ControlButton{Label: "⤢", Command: "/" + sizeCommand + " " + autoSize}

// swapKeys shows the other row of keys from now on.
func (s *session) swapKeys() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keyRow = 1 - s.keyRow
	s.notifyWatchersLocked()
}

// keyButtons returns the row of keys that is shown now, and how a person hands back the terminal
// after a takeover.
func (s *session) keyButtons(w words.Words) []terminal.ControlButton {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := slices.Clone(keyRows[s.keyRow])
	if s.resizable && s.keyRow > 0 {
		row = slices.Insert(row, len(row)-1, fitButton)
	}
	if s.takeover.taken {
		row = append(row, terminal.ControlButton{Label: w.Text(words.ButtonHandBack), Command: "/" + giveCommand})
	}
	return row
}
