package tools

// MaxLine is the length of the longest message that is read.
const MaxLine = maxLine

// FindID returns the ID of a message, once found from its beginning and once from its end.
func FindID(message []byte) (first, last string) {
	return string(findID(message)), string(findIDAtEnd(message))
}
