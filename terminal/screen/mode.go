package screen

import "strconv"

// flag returns the mode that is only stored, or nil. The prefix is '?' for the modes of DECSET, and
// 0 for those of SM.
func (s *Screen) flag(prefix byte, mode int) *bool {
	if prefix == 0 {
		switch mode {
		case 4:
			return &s.modes.insert
		case 20:
			return &s.modes.newline
		}
		return nil
	}
	switch mode {
	case 1:
		return &s.modes.appCursor
	case 6:
		return &s.cursor.origin
	case 7:
		return &s.modes.wrap
	case 25:
		return &s.modes.cursorVisible
	case 66:
		return &s.modes.appKeypad
	case 2004:
		return &s.modes.bracketedPaste
	}
	return nil
}

// setMode is SM and RM, or DECSET and DECRST. Mouse, focus and keyboard modes do not change the
// screen and are ignored. So is DECCOLM, as in xterm: terminfo's initialization string contains it,
// and it would clear the screen.
func (s *Screen) setMode(prefix byte, mode int, on bool) {
	if flag := s.flag(prefix, mode); flag != nil {
		*flag = on
	}
	if prefix == 0 {
		return
	}
	switch mode {
	case 6:
		s.moveTo(0, 0)
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
	alternate := s.Alternate()
	flag, value, start := s.flag(prefix, mode), "0", "\x1b["
	switch prefix {
	case 0:
	case '?':
		start = "\x1b[?"
		if mode == 47 || mode == 1047 || mode == 1049 {
			flag = &alternate
		}
	default:
		return
	}
	switch {
	case flag != nil && *flag:
		value = "1"
	case flag != nil:
		value = "2"
	}
	s.reply(start + strconv.Itoa(mode) + ";" + value + "$y")
}
