package screen

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// DefaultForeground and DefaultBackground are the default colours, light on dark. Programs query
// them to choose readable colours.
const (
	DefaultForeground = rgbColor | 0xd4d4d4
	DefaultBackground = rgbColor | 0x1e1e1e
)

// executeOSC executes an operating system command: colour queries. The reply has the terminator of
// the query. Titles are ignored, because nobody sees them.
func (s *Screen) executeOSC(text []byte, end string) {
	number, rest, found := bytes.Cut(text, []byte(";"))
	n, err := strconv.ParseUint(string(number), 10, 16)
	if err != nil || !found {
		return
	}
	switch n {
	case 4:
		index, query, _ := strings.Cut(string(rest), ";")
		if i, err := strconv.ParseUint(index, 10, 8); err == nil && query == "?" {
			s.replyColor("4;"+strconv.Itoa(int(i)), Palette(uint8(i)), end)
		}
	case 10, 12: // the cursor has the colour of text
		if string(rest) == "?" {
			s.replyColor(strconv.Itoa(int(n)), DefaultForeground, end)
		}
	case 11:
		if string(rest) == "?" {
			s.replyColor("11", DefaultBackground, end)
		}
	}
}

func (s *Screen) replyColor(what string, c Color, end string) {
	r, g, b, _ := c.RGB()
	s.reply(fmt.Sprintf("\x1b]%s;rgb:%02x%02x/%02x%02x/%02x%02x%s", what, r, r, g, g, b, b, end))
}
