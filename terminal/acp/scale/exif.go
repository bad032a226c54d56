package scale

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// The markers of a JPEG file.
const (
	markerStart = 0xd8 // of the file
	markerApp1  = 0xe1
	markerScan  = 0xda // pixels follow
)

// exifOf returns the segment of a JPEG file that says how a camera was held; nil: there is none.
// The decoder ignores it, so that the picture would lie on its side.
func exifOf(data []byte) []byte {
	const head = 4 // a marker and the length of what follows the marker
	if len(data) < 2 || data[0] != 0xff || data[1] != markerStart {
		return nil
	}
	for rest := data[2:]; len(rest) >= head && rest[0] == 0xff && rest[1] != markerScan; {
		end := 2 + int(binary.BigEndian.Uint16(rest[2:]))
		if end < head || end > len(rest) {
			return nil
		}
		if rest[1] == markerApp1 && bytes.HasPrefix(rest[head:end], []byte("Exif\x00\x00")) {
			return rest[:end]
		}
		rest = rest[end:]
	}
	return nil
}

// withExif inserts the segment at the beginning of a JPEG file.
func withExif(data, segment []byte) []byte { return slices.Concat(data[:2], segment, data[2:]) }
