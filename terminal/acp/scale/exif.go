package scale

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
)

// The markers of a JPEG file.
const (
	markerStart = 0xd8 // of the file
	markerApp1  = 0xe1
	markerScan  = 0xda // pixels follow
	// markerProgressive begins a picture whose pixels come in several passes.
	markerProgressive = 0xc2
)

// segmentHead is the length of a marker and the length of what follows it.
const segmentHead = 4

// segments iterates over the segments of a JPEG file before its pixels: the marker and the whole
// segment, which begins with four bytes of marker and length. Other files have none.
func segments(data []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		if len(data) < 2 || data[0] != 0xff || data[1] != markerStart {
			return
		}
		for rest := data[2:]; len(rest) >= segmentHead && rest[0] == 0xff && rest[1] != markerScan; {
			end := 2 + int(binary.BigEndian.Uint16(rest[2:]))
			if end < segmentHead || end > len(rest) || !yield(rest[1], rest[:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}

// exifOf returns the segment of a JPEG file that says how a camera was held; nil: there is none.
// The decoder ignores it, so that the picture would lie on its side.
func exifOf(data []byte) []byte {
	for marker, segment := range segments(data) {
		if marker == markerApp1 && bytes.HasPrefix(segment[segmentHead:], []byte("Exif\x00\x00")) {
			return segment
		}
	}
	return nil
}

// isProgressive reports whether a file is a JPEG whose pixels come in several passes.
func isProgressive(data []byte) bool {
	for marker := range segments(data) {
		if marker == markerProgressive {
			return true
		}
	}
	return false
}

// withExif inserts the segment at the beginning of a JPEG file.
func withExif(data, segment []byte) []byte { return slices.Concat(data[:2], segment, data[2:]) }
