package acp_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// promptPicture sends a picture to an agent, and returns the picture in the prompt; nil: the prompt
// has only a link.
func promptPicture(t *testing.T, name string, data []byte) (picture []byte, mime string) {
	t.Helper()
	p := newFixture(t, "-images").person("a")
	musttest.Do(t, os.WriteFile(p.path(name), data, 0o600))
	p.media = []string{p.path(name)}
	text := p.send("blocks").text(terminal.Message)
	var blocks []struct{ Type, Data, MimeType, URI string }
	from, to := strings.Index(text, "["), strings.LastIndex(text, "]")
	if from < 0 || to < 0 {
		t.Fatalf("said %q", text)
	}
	musttest.Do(t, json.Unmarshal([]byte(text[from:to+1]), &blocks))
	for _, b := range blocks {
		if b.Type == "image" {
			picture, err := base64.StdEncoding.DecodeString(b.Data)
			if err != nil || b.URI == "" {
				t.Fatal(b.URI, err)
			}
			return picture, b.MimeType
		}
	}
	return nil, ""
}

func TestAPictureInAPromptHasAtMost2000Pixels(t *testing.T) {
	t.Parallel()
	var photo, screenshot bytes.Buffer
	musttest.Do(t, jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 2004, 1503)), nil))
	musttest.Do(t, png.Encode(&screenshot, image.NewGray(image.Rect(0, 0, 900, 2001))))
	for _, c := range []struct {
		name, mime    string
		data          []byte
		width, height int
	}{{"photo.jpg", "image/jpeg", photo.Bytes(), 2000, 1500}, {"screen.png", "image/png", screenshot.Bytes(), 900, 2000}} {
		got, mime := promptPicture(t, c.name, c.data)
		size, format, err := image.DecodeConfig(bytes.NewReader(got))
		if err != nil || size.Width != c.width || size.Height != c.height || mime != c.mime || "image/"+format != mime {
			t.Errorf("%s: %d × %d, %s, %s, %v", c.name, size.Width, size.Height, format, mime, err)
		}
	}
}

func TestAPictureWithTooManyPixelsIsALink(t *testing.T) {
	t.Parallel()
	var small bytes.Buffer
	musttest.Do(t, png.Encode(&small, image.NewPaletted(image.Rect(0, 0, 2, 2), []color.Color{color.Black})))
	huge := small.Bytes() // its header claims more pixels than it has
	binary.BigEndian.PutUint32(huge[16:], 10_000)
	binary.BigEndian.PutUint32(huge[20:], 6000)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	if got, mime := promptPicture(t, "huge.png", huge); got != nil {
		t.Errorf("%d bytes of %s", len(got), mime)
	}
}
