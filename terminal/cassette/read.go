package cassette

// Cassette is a cassette that was read.
type Cassette struct {
	Path   string
	Header Header
	Lines  []Line
	// Cut says that the last line is incomplete, because the recording was cut off.
	Cut bool
}
