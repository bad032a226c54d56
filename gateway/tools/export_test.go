package tools

// MaxLine is the length of the longest message that is read.
const MaxLine = maxLine

// ScanID returns the ID of a message that is read in parts of a size.
func ScanID(message []byte, size int) string {
	var s idScanner
	for len(message) > 0 {
		n := min(size, len(message))
		s.feed(message[:n])
		message = message[n:]
	}
	return string(s.ID())
}
