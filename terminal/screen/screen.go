// Package screen emulates a terminal of the type xterm-256color: it interprets the bytes that
// programs write to a pseudo-terminal and keeps the screen that a person would see. It does no I/O
// itself; the caller passes output to Write and sends the result of TakeReplies back.
//
// Where terminals differ, the emulator behaves like tmux, except where a comment says otherwise.
package screen

const (
	// maxSide limits both dimensions, so that a grid takes at most 16 MB.
	maxSide = 1000
	// maxReplies limits the replies that were not taken yet, in bytes.
	maxReplies = 4096
)

// Screen is an emulated terminal. It is not safe for concurrent use; a Snapshot is.
type Screen struct {
	cols, rows   int
	grid         *grid // main or alternate, whichever is visible
	main         *grid
	alternate    *grid // nil until used
	history      history
	clusters     clusters
	widths       widthCache
	cursor       cursor
	saved        cursor // by DECSC
	savedMain    cursor // by mode 1049
	hasSavedMain bool
	top, bottom  int // scroll region, both inclusive
	tabs         []bool
	modes        modes
	parser       parser
	last         rune // the character just printed, for REP; 0 after anything else
	replies      []byte
}

// cursor is the state that DECSC saves.
type cursor struct {
	col, row int // col == cols means that the next character wraps
	pen      pen
	graphics [2]bool // whether G0 and G1 are DEC line drawing
	shift    int     // the character set in use, 0 or 1
	origin   bool
}

// modes are the terminal modes that change how output is interpreted or how keys are encoded.
type modes struct {
	insert, wrap, newline                               bool
	appCursor, appKeypad, bracketedPaste, cursorVisible bool
}

// initialModes are the modes of a terminal that no program has changed.
var initialModes = modes{wrap: true, cursorVisible: true}

// New returns a blank terminal with 10,000 lines of scrollback. Both dimensions are clamped to the
// range from 1 to 1,000.
func New(cols, rows int) *Screen {
	s := &Screen{cols: clampSide(cols), rows: clampSide(rows), modes: initialModes}
	s.main = newGrid(s.cols, s.rows)
	s.grid = s.main
	s.bottom = s.rows - 1
	s.resetTabs()
	return s
}

func clampSide(n int) int { return min(max(n, 1), maxSide) }

// ApplicationCursor reports whether cursor keys send ESC O instead of ESC [ (DECCKM).
func (s *Screen) ApplicationCursor() bool { return s.modes.appCursor }

// ApplicationKeypad reports whether the keypad is in application mode (DECKPAM).
func (s *Screen) ApplicationKeypad() bool { return s.modes.appKeypad }

// Alternate reports whether the alternate screen is shown.
func (s *Screen) Alternate() bool { return s.grid != s.main }

// TakeReplies returns the replies to queries since the last call, or nil. The caller writes them to
// the pseudo-terminal, because programs that query the terminal wait for them. Replies beyond 4 KiB
// are dropped.
func (s *Screen) TakeReplies() []byte {
	replies := s.replies
	s.replies = nil
	return replies
}

func (s *Screen) reply(answer string) {
	if len(s.replies)+len(answer) <= maxReplies {
		s.replies = append(s.replies, answer...)
	}
}

func (s *Screen) resetTabs() {
	s.tabs = make([]bool, s.cols)
	for i := 0; i < s.cols; i += 8 {
		s.tabs[i] = true
	}
}

// reset is RIS. As in xterm and unlike tmux, it also leaves the alternate screen, because people
// type "reset" to get a usable terminal back. The scrollback stays.
func (s *Screen) reset() {
	s.grid = s.main
	s.alternate = nil
	s.softReset()
	s.cursor, s.savedMain, s.hasSavedMain = cursor{}, cursor{}, false
	s.modes = initialModes
	s.resetTabs()
	s.eraseScreen()
}

// softReset is DECSTR.
func (s *Screen) softReset() {
	s.top, s.bottom = 0, s.rows-1
	s.cursor.pen = pen{}
	s.cursor.graphics, s.cursor.shift, s.cursor.origin = [2]bool{}, 0, false
	s.saved = cursor{}
	paste := s.modes.bracketedPaste
	s.modes = initialModes
	s.modes.bracketedPaste = paste
}
