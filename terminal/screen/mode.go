package screen

import "strconv"

func (s *Screen) setMode(mode int, on bool) {
	switch mode {
	case 4:
		s.modes.insert = on
	case 20:
		s.modes.newline = on
	}
}

// setPrivateMode is DECSET and DECRST. Mouse, focus and keyboard modes do not change the screen and
// are ignored. So is DECCOLM, as in xterm: terminfo's initialization string contains it, and it
// would clear the screen.
func (s *Screen) setPrivateMode(mode int, on bool) {
	switch mode {
	case 1:
		s.modes.appCursor = on
	case 6:
		s.cursor.origin = on
		s.moveTo(0, 0)
	case 7:
		s.modes.noWrap = !on
	case 25:
		s.modes.cursorHidden = !on
	case 66:
		s.modes.appKeypad = on
	case 2004:
		s.modes.bracketedPaste = on
	case 47, 1047:
		s.showAlternate(on)
	case 1048:
		if on {
			s.saved = s.cursor
		} else {
			s.restoreCursor(s.saved)
		}
	case 1049:
		s.switchAlternate(on)
	}
}

// switchAlternate is mode 1049, which also saves and restores the cursor.
func (s *Screen) switchAlternate(on bool) {
	if on && !s.Alternate() {
		s.savedMain, s.hasSavedMain = s.cursor, true
	}
	s.showAlternate(on)
	if !on && s.hasSavedMain {
		s.restoreCursor(s.savedMain)
	}
}

// showAlternate is modes 47 and 1047. The alternate screen is blank each time it is shown.
func (s *Screen) showAlternate(on bool) {
	switch {
	case on == s.Alternate():
	case !on:
		s.grid = s.main
	default:
		if s.alternate == nil {
			s.alternate = newGrid(s.cols, s.rows)
		}
		s.grid = s.alternate
		for _, r := range s.grid.rows {
			r.reset(pen{})
		}
	}
}

// reportMode is DECRQM: 1 is set, 2 is reset, 0 is unknown.
func (s *Screen) reportMode(prefix byte, mode int) {
	var on, known bool
	switch prefix {
	case 0:
		on, known = s.mode(mode)
	case '?':
		on, known = s.privateMode(mode)
	default:
		return
	}
	value := "0"
	switch {
	case known && on:
		value = "1"
	case known:
		value = "2"
	}
	answer := "\x1b["
	if prefix == '?' {
		answer = "\x1b[?"
	}
	s.reply(answer + strconv.Itoa(mode) + ";" + value + "$y")
}

func (s *Screen) mode(mode int) (on, known bool) {
	switch mode {
	case 4:
		return s.modes.insert, true
	case 20:
		return s.modes.newline, true
	}
	return false, false
}

func (s *Screen) privateMode(mode int) (on, known bool) {
	switch mode {
	case 1:
		return s.modes.appCursor, true
	case 6:
		return s.cursor.origin, true
	case 7:
		return !s.modes.noWrap, true
	case 25:
		return !s.modes.cursorHidden, true
	case 66:
		return s.modes.appKeypad, true
	case 2004:
		return s.modes.bracketedPaste, true
	case 47, 1047, 1049:
		return s.Alternate(), true
	}
	return false, false
}
