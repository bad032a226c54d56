package screen

import "unicode/utf8"

// state is the state of the parser.
type state uint8

const (
	ground state = iota
	escape
	escapeIntermediate
	csi
	csiIntermediate
	csiIgnore
	operatingSystemCommand // OSC
	ignoredString          // DCS, APC, PM, SOS and the window name of screen(1)
)

const (
	// maxCommand limits the bytes of an OSC that are stored. Longer ones are titles or clipboard
	// contents, which are ignored anyway.
	maxCommand = 2048
	// maxString is the length at which a control string counts as unterminated, as in tmux.
	maxString = 1 << 20
)

// parser splits the output into characters, controls and sequences.
type parser struct {
	state         state
	prefix        byte // one of < = > ? after CSI, or 0
	intermediates [2]byte
	intermediate  int // number of intermediates
	args          arguments
	command       []byte // content of an OSC
	length        int    // length of the control string so far
	closing       bool   // an OSC was ended by ESC, and a backslash completes it
	partial       [utf8.UTFMax]byte
	partialLen    int
}

// Write interprets output of a program. It never fails. Characters and sequences may be split
// anywhere between calls. Write must not be called concurrently with any other method.
func (s *Screen) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		switch {
		case s.parser.state == ground:
			p = p[s.writeText(p):]
		case s.parser.state >= operatingSystemCommand:
			p = p[s.controlString(p):]
		default:
			s.writeByte(p[0])
			p = p[1:]
		}
	}
	return written, nil
}

// writeText interprets output outside of sequences and returns how many bytes it has consumed.
func (s *Screen) writeText(p []byte) int {
	if s.parser.partialLen > 0 {
		return s.completeRune(p[0])
	}
	for i := 0; ; {
		start := i
		for i < len(p) && p[i]-0x20 < 0x5f {
			i++
		}
		if i > start {
			s.printASCII(p[start:i])
		}
		if i == len(p) {
			return i
		}
		switch b := p[i]; {
		case b == '\n':
			s.last = 0
			s.lineFeed()
			i++
		case b < 0x80:
			s.executeControl(b)
			i++
			if s.parser.state != ground {
				return i
			}
		default:
			i += s.writeCharacter(p[i:])
		}
	}
}

// writeCharacter prints the non-ASCII character at the beginning of p and returns its length. An
// incomplete character is stored for completeRune.
func (s *Screen) writeCharacter(p []byte) int {
	r, size := utf8.DecodeRune(p)
	if r == utf8.RuneError && size == 1 {
		if !utf8.FullRune(p) {
			s.parser.partialLen = copy(s.parser.partial[:], p)
			return len(p)
		}
		size = invalidPrefixLen(p)
	}
	s.print(r)
	return size
}

// invalidPrefixLen returns how many bytes at the beginning of p one replacement character stands
// for: the longest prefix that could start a character, as Unicode recommends.
func invalidPrefixLen(p []byte) int {
	n := 1
	for n < len(p) && !utf8.FullRune(p[:n+1]) {
		n++
	}
	return n
}

// completeRune adds one byte to an incomplete character. It returns 0 if the byte does not belong
// to it.
func (s *Screen) completeRune(b byte) int {
	pr := &s.parser
	pr.partial[pr.partialLen] = b
	whole := pr.partial[:pr.partialLen+1]
	if !utf8.FullRune(whole) {
		pr.partialLen++
		return 1
	}
	pr.partialLen = 0
	r, size := utf8.DecodeRune(whole)
	s.print(r)
	if size == len(whole) {
		return 1
	}
	return 0
}

// executeControl executes a control character, which may be in the middle of a sequence.
func (s *Screen) executeControl(b byte) {
	if b != 0x1b {
		s.last = 0
	}
	switch b {
	case '\b':
		s.backspace()
	case '\t':
		s.tab(1)
	case '\n', '\v', '\f':
		s.lineFeed()
	case '\r':
		s.cursor.col = 0
	case 0x0e, 0x0f: // SO, SI
		s.cursor.shift = int(0x0f - b)
	case 0x18, 0x1a: // CAN, SUB
		s.parser.state = ground
	case 0x1b:
		s.parser.state = escape
		s.parser.intermediate = 0
		s.parser.closing = false
	}
}

// writeByte interprets one byte of a sequence.
func (s *Screen) writeByte(b byte) {
	if b < 0x20 {
		s.executeControl(b)
		return
	}
	if b >= 0x7f {
		return
	}
	switch s.parser.state {
	case escape:
		s.escapeByte(b)
	case escapeIntermediate:
		if b < 0x30 {
			s.addIntermediate(b)
			return
		}
		s.parser.state = ground
		s.escapeSequence(b)
	default:
		s.csiByte(b)
	}
}

func (s *Screen) addIntermediate(b byte) {
	if s.parser.intermediate < len(s.parser.intermediates) {
		s.parser.intermediates[s.parser.intermediate] = b
	}
	s.parser.intermediate++
}

func (s *Screen) escapeByte(b byte) {
	closing := s.parser.closing
	s.parser.closing = false
	switch {
	case b < 0x30:
		s.addIntermediate(b)
		s.parser.state = escapeIntermediate
	case b == '[':
		s.parser.state = csi
		s.parser.prefix = 0
		s.parser.args.reset()
	case b == ']':
		s.parser.state = operatingSystemCommand
		s.parser.command = s.parser.command[:0]
		s.parser.length = 0
	case b == 'P', b == 'X', b == '^', b == '_', b == 'k':
		s.parser.state = ignoredString
		s.parser.length = 0
	case b == '\\':
		s.parser.state = ground
		if closing {
			s.executeOSC(s.parser.command, "\x1b\\")
		}
	default:
		s.parser.state = ground
		s.escapeSequence(b)
	}
}

func (s *Screen) csiByte(b byte) {
	pr := &s.parser
	switch {
	case b >= 0x40:
		ignored := pr.state == csiIgnore
		pr.state = ground
		if !ignored {
			s.controlSequence(b)
		}
	case pr.state == csiIgnore:
	case b < 0x30:
		s.addIntermediate(b)
		pr.state = csiIntermediate
	case pr.state == csiIntermediate:
		pr.state = csiIgnore
	case b <= '9':
		pr.args.addDigit(b)
	case b == ';', b == ':':
		pr.args.addArgument(b == ':')
	case pr.prefix == 0 && pr.args.last == 0 && pr.args.value[0] < 0: // < = > ?
		pr.prefix = b
	default:
		pr.state = csiIgnore
	}
}

// controlString reads a control string and returns how many bytes it has consumed. Any ESC ends the
// string, complete or not: otherwise a string that binary output has opened would swallow all later
// output.
func (s *Screen) controlString(p []byte) int {
	pr := &s.parser
	n := 0
	for n < len(p) && p[n] != 0x1b && p[n] != 0x18 && p[n] != 0x1a && p[n] != '\a' {
		n++
	}
	n = min(n, maxString-pr.length)
	if pr.state == operatingSystemCommand {
		pr.command = append(pr.command, p[:min(n, maxCommand-len(pr.command))]...)
	}
	pr.length += n
	switch {
	case pr.length >= maxString:
		pr.state = ground
		return n
	case n == len(p):
		return n
	}
	switch b := p[n]; {
	case b == '\a' && pr.state == operatingSystemCommand:
		pr.state = ground
		s.last = 0
		s.executeOSC(pr.command, "\a")
	case b == '\a':
		pr.length++
	default:
		closing := pr.state == operatingSystemCommand
		s.executeControl(b)
		pr.closing = closing
	}
	return n + 1
}
