package screen

import (
	"fmt"
	"strconv"
)

// escapeSequence executes ESC, intermediates and a final byte.
func (s *Screen) escapeSequence(final byte) {
	s.last = 0
	pr := &s.parser
	switch {
	case pr.intermediate == 0:
		s.plainEscape(final)
	case pr.intermediate > 1:
	case pr.intermediates[0] == '(', pr.intermediates[0] == ')':
		s.cursor.graphics[pr.intermediates[0]-'('] = final == '0'
	case pr.intermediates[0] == '#' && final == '8':
		s.alignmentTest()
	}
}

func (s *Screen) plainEscape(final byte) {
	switch final {
	case '7':
		s.saved = s.cursor
	case '8':
		s.restoreCursor(s.saved)
	case '=':
		s.modes.appKeypad = true
	case '>':
		s.modes.appKeypad = false
	case 'D':
		s.lineFeed()
	case 'E':
		s.lineFeed()
		s.cursor.col = 0
	case 'H':
		if s.cursor.col < s.cols {
			s.tabs[s.cursor.col] = true
		}
	case 'M':
		s.reverseIndex()
	case 'Z':
		s.reply(deviceAttributes)
	case 'c':
		s.reset()
	}
}

// restoreCursor is DECRC. The screen may be smaller than when the cursor was saved.
func (s *Screen) restoreCursor(c cursor) {
	s.cursor = c
	s.cursor.col, s.cursor.row = min(c.col, s.cols-1), min(c.row, s.rows-1)
}

// controlSequence executes a CSI sequence.
func (s *Screen) controlSequence(final byte) {
	last := s.last
	s.last = 0
	pr := &s.parser
	switch {
	case pr.intermediate == 0 && pr.prefix == 0:
		if final == 'b' {
			s.last = last
			s.repeat(pr.args.positive(0))
			return
		}
		if !s.moveSequence(final, &pr.args) && !s.editSequence(final, &pr.args) {
			s.otherSequence(final, &pr.args)
		}
	case pr.intermediate == 0:
		s.privateSequence(pr.prefix, final, &pr.args)
	case pr.intermediate == 1 && pr.intermediates[0] == '!' && final == 'p' && pr.prefix == 0:
		s.softReset()
	case pr.intermediate == 1 && pr.intermediates[0] == '$' && final == 'p':
		s.reportMode(pr.prefix, pr.args.get(0, 0))
	}
}

func (s *Screen) moveSequence(final byte, a *arguments) bool {
	switch final {
	case 'A':
		s.moveUp(a.positive(0))
	case 'B', 'e':
		s.moveDown(a.positive(0))
	case 'C', 'a':
		s.moveRight(a.positive(0))
	case 'D':
		s.moveLeft(a.positive(0))
	case 'E':
		s.moveDown(a.positive(0))
		s.cursor.col = 0
	case 'F':
		s.moveUp(a.positive(0))
		s.cursor.col = 0
	case 'G', '`':
		s.cursor.col = min(a.positive(0), s.cols) - 1
	case 'H', 'f':
		s.moveTo(a.positive(1)-1, a.positive(0)-1)
	case 'I':
		s.tab(a.positive(0))
	case 'Z':
		s.backTab(a.positive(0))
	case 'd':
		s.moveToRow(a.positive(0) - 1)
	case 's':
		s.saved = s.cursor
	case 'u':
		s.restoreCursor(s.saved)
	default:
		return false
	}
	return true
}

func (s *Screen) editSequence(final byte, a *arguments) bool {
	switch final {
	case '@':
		s.insertCharacters(a.positive(0))
	case 'J':
		s.eraseInDisplay(a.get(0, 0))
	case 'K':
		s.eraseInLine(a.get(0, 0))
	case 'L':
		s.insertLines(a.positive(0))
	case 'M':
		s.deleteLines(a.positive(0))
	case 'P':
		s.deleteCharacters(a.positive(0))
	case 'S':
		s.scrollUp(a.positive(0), s.erasedPen())
	case 'T', '^':
		if a.count() == 1 { // with five parameters, T starts highlight mouse tracking
			s.scrollDown(a.positive(0))
		}
	case 'X':
		s.eraseCharacters(a.positive(0))
	default:
		return false
	}
	return true
}

func (s *Screen) otherSequence(final byte, a *arguments) {
	switch final {
	case 'c':
		if a.get(0, 0) == 0 {
			s.reply(deviceAttributes)
		}
	case 'g':
		s.clearTabs(a.get(0, 0))
	case 'h', 'l':
		for i := range a.count() {
			s.setMode(0, a.get(i, 0), final == 'h')
		}
	case 'm':
		s.setStyle(a)
	case 'n':
		s.reportStatus(0, a.get(0, 0))
	case 'r':
		bottom := a.get(1, 0)
		if bottom == 0 {
			bottom = s.rows
		}
		s.setRegion(a.positive(0)-1, bottom-1)
	case 't':
		s.windowOperation(a.get(0, 0))
	}
}

func (s *Screen) clearTabs(how int) {
	switch how {
	case 0:
		if s.cursor.col < s.cols {
			s.tabs[s.cursor.col] = false
		}
	case 3:
		clear(s.tabs)
	}
}

// privateSequence executes CSI with one of < = > ? before its parameters. Unknown ones, such as
// those of the kitty keyboard protocol, are ignored, because the sequence without the prefix has
// another meaning.
func (s *Screen) privateSequence(prefix, final byte, a *arguments) {
	switch {
	case prefix == '?' && (final == 'h' || final == 'l'):
		for i := range a.count() {
			s.setMode(prefix, a.get(i, 0), final == 'h')
		}
	case prefix == '?' && final == 'n':
		s.reportStatus(prefix, a.get(0, 0))
	case prefix == '?' && final == 'J': // DECSED, DECSEL: nothing is ever protected
		s.eraseInDisplay(a.get(0, 0))
	case prefix == '?' && final == 'K':
		s.eraseInLine(a.get(0, 0))
	case prefix == '>' && final == 'c' && a.get(0, 0) == 0:
		s.reply(secondaryAttributes)
	}
}

const (
	// deviceAttributes identifies a VT100 with advanced video, and secondaryAttributes is the reply
	// of tmux, from which programs expect no further features.
	deviceAttributes    = "\x1b[?1;2c"
	secondaryAttributes = "\x1b[>84;0;0c"
)

// reportStatus is DSR.
func (s *Screen) reportStatus(prefix byte, what int) {
	switch {
	case what == 5 && prefix == 0:
		s.reply("\x1b[0n")
	case what == 6:
		row, col := s.cursor.row+1, min(s.cursor.col, s.cols-1)+1
		if s.cursor.origin {
			row -= s.top
		}
		start := "\x1b["
		if prefix == '?' {
			start = "\x1b[?"
		}
		s.reply(start + strconv.Itoa(row) + ";" + strconv.Itoa(col) + "R")
	}
}

// windowOperation is XTWINOPS, of which only the size of the screen is known.
func (s *Screen) windowOperation(operation int) {
	if operation == 18 || operation == 19 {
		s.reply(fmt.Sprintf("\x1b[%d;%d;%dt", operation-10, s.rows, s.cols))
	}
}
