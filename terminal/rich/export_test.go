package rich

import "nanobot/terminal"

// Decode decodes one line as a frame, without its fields.
func Decode(line []byte) (terminal.Frame, bool) {
	var f fields
	return decode(line, &f)
}
