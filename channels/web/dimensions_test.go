package web_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"nanobot/channels/web"
	"nanobot/internal/musttest"
)

// TestVideosHaveDimensions reads films that a browser has recorded, of 64 by 96 pixels.
func TestVideosHaveDimensions(t *testing.T) {
	for _, kind := range []string{"webm", "mp4"} {
		film := musttest.Get(os.ReadFile("testdata/videos/portrait." + kind))(t)
		if w, h := web.Dimensions(bytes.NewReader(film), "video/"+kind); w != 64 || h != 96 {
			t.Errorf("the %s has %d by %d pixels", kind, w, h)
		}
		for n := range film { // a film that is cut off has dimensions or none
			if w, h := web.Dimensions(bytes.NewReader(film[:n]), "video/"+kind); w*h != 64*96 && w*h != 0 {
				t.Errorf("the first %d bytes of the %s have %d by %d pixels", n, kind, w, h)
			}
		}
	}
}

// box returns an MP4 box.
func box(kind, content string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(content)))) + kind + content
}

func TestARotatedVideoHasTheDimensionsThatAreShown(t *testing.T) {
	track := func(first byte) string {
		matrix := strings.Repeat("\x00", 3) + string(first) + strings.Repeat("\x00", 32)
		return box("trak", box("tkhd", strings.Repeat("\x00", 40)+matrix+"\x00\x40\x00\x00\x00\x30\x00\x00"))
	}
	for first, want := range map[byte][2]int{1: {64, 48}, 0: {48, 64}} {
		sound := box("trak", box("tkhd", strings.Repeat("\x00", 84)))
		film := box("ftyp", "isom") + box("mdat", "not read") + box("moov", box("mvhd", "x")+sound+track(first))
		if w, h := web.Dimensions(strings.NewReader(film), "video/mp4"); [2]int{w, h} != want {
			t.Errorf("with a matrix that begins with %d it has %d by %d pixels", first, w, h)
		}
	}
}

func TestWebPPicturesHaveDimensions(t *testing.T) {
	for kind, header := range map[string]string{
		"VP8 ": "\x30\x01\x00\x9d\x01\x2a\x2c\x01\xc8\x00",
		"VP8L": "\x2f\x2b\xc1\x31\x00\x00\x00\x00\x00\x00",
		"VP8X": "\x00\x00\x00\x00\x2b\x01\x00\xc7\x00\x00",
	} {
		chunk := "WEBP" + kind + string(binary.LittleEndian.AppendUint32(nil, uint32(len(header)))) + header
		file := "RIFF" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(chunk)))) + chunk
		if w, h := web.Dimensions(strings.NewReader(file), "image/webp"); w != 300 || h != 200 {
			t.Errorf("%s has %d by %d pixels", kind, w, h)
		}
	}
}
