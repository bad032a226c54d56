package web

import (
	"encoding/binary"
	"errors"
	"image"
	_ "image/gif"  // sizes of pictures
	_ "image/jpeg" // sizes of pictures
	_ "image/png"  // sizes of pictures
	"io"

	_ "golang.org/x/image/webp" // sizes of pictures
)

// dimensions returns the width and height of a picture or a video in pixels, so that the page can
// lay it out before it is loaded; 0, 0 if they are unknown. It decodes no picture, which may be a
// decompression bomb.
func dimensions(f io.ReadSeeker, contentType string) (width, height int) {
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return 0, 0
	}
	switch contentType {
	case "video/mp4":
		return mp4Dimensions(f, 0, size, "moov", "trak", "tkhd")
	case "video/webm":
		head := make([]byte, maxVideoHeader)
		n, err := io.ReadFull(f, head)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, 0
		}
		return webmDimensions(head[:n])
	}
	c, _, err := image.DecodeConfig(f)
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}

const (
	// maxVideoHeader is how many bytes of a WebM file are searched for its tracks.
	maxVideoHeader = 64 << 10
	// maxBoxes bounds how many boxes of an MP4 file are read on each level.
	maxBoxes = 100
)

// mp4Dimensions returns the dimensions of the first video track between two offsets. path has the
// types of the boxes that lead to the header of a track.
func mp4Dimensions(f io.ReadSeeker, from, to int64, path ...string) (width, height int) {
	for range maxBoxes {
		var head [16]byte
		if _, err := f.Seek(from, io.SeekStart); err != nil || to-from < 8 {
			return 0, 0
		}
		if _, err := io.ReadFull(f, head[:8]); err != nil {
			return 0, 0
		}
		start, size := from+8, int64(binary.BigEndian.Uint32(head[:]))
		if size == 1 { // a 64-bit size follows
			if _, err := io.ReadFull(f, head[8:]); err != nil {
				return 0, 0
			}
			start, size = from+16, int64(binary.BigEndian.Uint64(head[8:])&(1<<62-1))
		}
		end := from + size
		if end <= start || end > to {
			return 0, 0
		}
		switch found := string(head[4:8]) == path[0]; {
		case found && len(path) > 1:
			width, height = mp4Dimensions(f, start, end, path[1:]...)
		case found:
			width, height = trackDimensions(f, end)
		}
		if width > 0 && height > 0 {
			return width, height
		}
		from = end
	}
	return 0, 0
}

// trackDimensions reads the end of an MP4 track header: a matrix, whose first number is 0 if the
// video is shown rotated by 90 degrees, and the dimensions with 16 fractional bits.
func trackDimensions(f io.ReadSeeker, end int64) (width, height int) {
	var b [44]byte
	if _, err := f.Seek(end-int64(len(b)), io.SeekStart); err != nil {
		return 0, 0
	}
	if _, err := io.ReadFull(f, b[:]); err != nil {
		return 0, 0
	}
	width, height = int(binary.BigEndian.Uint32(b[36:])>>16), int(binary.BigEndian.Uint32(b[40:])>>16)
	if binary.BigEndian.Uint32(b[:]) == 0 {
		return height, width
	}
	return width, height
}

// The IDs of the WebM elements on the way to the dimensions of a video track.
const (
	webmSegment, webmTracks, webmTrack, webmVideo = 0x18538067, 0x1654AE6B, 0xAE, 0xE0
	webmPixelWidth, webmPixelHeight               = 0xB0, 0xBA
)

// webmDimensions returns the dimensions of the first video track in the beginning of a WebM file.
func webmDimensions(b []byte) (width, height int) {
	for len(b) > 0 && (width == 0 || height == 0) {
		id, n := ebmlNumber(b, false)
		size, m := ebmlNumber(b[n:], true)
		if n == 0 || m == 0 {
			return 0, 0
		}
		b = b[n+m:]
		content := b[:min(size, uint64(len(b)))] // the segment may be longer, or of unknown size
		switch id {
		case webmSegment, webmTracks, webmTrack, webmVideo:
			width, height = webmDimensions(content)
		case webmPixelWidth:
			width = ebmlInteger(content)
		case webmPixelHeight:
			height = ebmlInteger(content)
		}
		b = b[len(content):]
	}
	return width, height
}

// ebmlNumber decodes a number of variable length, without its length marker if it is a size, and
// returns how many bytes it has; 0 if there is none.
func ebmlNumber(b []byte, isSize bool) (value uint64, n int) {
	if len(b) == 0 || b[0] == 0 {
		return 0, 0
	}
	for n = 1; b[0]&(0x80>>(n-1)) == 0; n++ {
	}
	if len(b) < n {
		return 0, 0
	}
	value = uint64(b[0])
	if isSize {
		value &= 0xff >> n
	}
	for _, c := range b[1:n] {
		value = value<<8 | uint64(c)
	}
	return value, n
}

func ebmlInteger(b []byte) int {
	value := 0
	for _, c := range b[:min(len(b), 4)] {
		value = value<<8 | int(c)
	}
	return value
}
