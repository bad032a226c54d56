package scale_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal/acp/scale"
)

// picture returns a picture whose left half is red and whose right half is blue.
func picture(width, height int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.NRGBA{R: 255, A: 255}
			if x >= width/2 {
				c = color.NRGBA{B: 255, A: 255}
			}
			m.SetNRGBA(x, y, c)
		}
	}
	return m
}

func encodePNG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	musttest.Do(t, png.Encode(&b, m))
	return b.Bytes()
}

func encodeJPEG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	musttest.Do(t, jpeg.Encode(&b, m, nil))
	return b.Bytes()
}

func encodeGIF(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	musttest.Do(t, gif.Encode(&b, m, nil))
	return b.Bytes()
}

// near reports whether two colors look the same.
func near(a, b color.Color) bool {
	ar, ag, ab, aa := a.RGBA()
	br, bg, bb, ba := b.RGBA()
	for _, d := range []int{int(ar) - int(br), int(ag) - int(bg), int(ab) - int(bb), int(aa) - int(ba)} {
		if d > 0x600 || d < -0x600 {
			return false
		}
	}
	return true
}

func TestALargePictureIsScaledDown(t *testing.T) {
	red, blue := color.NRGBA{R: 255, A: 255}, color.NRGBA{B: 255, A: 255}
	for name, c := range map[string]struct {
		data          []byte
		mime          string
		width, height int
	}{
		"wide PNG":  {encodePNG(t, picture(301, 40)), "image/png", 100, 13},
		"tall PNG":  {encodePNG(t, picture(40, 301)), "image/png", 13, 100},
		"thin PNG":  {encodePNG(t, picture(4000, 2)), "image/png", 100, 1},
		"just over": {encodePNG(t, picture(101, 101)), "image/png", 100, 100},
		"JPEG":      {encodeJPEG(t, picture(640, 480)), "image/jpeg", 100, 75},
		"GIF":       {encodeGIF(t, picture(200, 200)), "image/png", 100, 100},
	} {
		t.Run(name, func(t *testing.T) {
			got, mime, err := scale.Down(c.data, 100)
			if err != nil || mime != c.mime {
				t.Fatalf("%q, %v", mime, err)
			}
			m, format, err := image.Decode(bytes.NewReader(got))
			if err != nil || "image/"+format != mime {
				t.Fatalf("%q, %v", format, err)
			}
			if b := m.Bounds(); b.Dx() != c.width || b.Dy() != c.height {
				t.Errorf("it is %d × %d", b.Dx(), b.Dy())
			}
			if l, r := m.At(1, c.height/2), m.At(c.width-2, c.height/2); !near(l, red) || !near(r, blue) {
				t.Errorf("left %v, right %v", l, r)
			}
		})
	}
}

func TestEachPixelIsTheAverageOfItsArea(t *testing.T) {
	const side = 32
	m := image.NewNRGBA(image.Rect(0, 0, side, side)) // each fourth column is white
	for i := range side * side {
		c := color.NRGBA{A: 255}
		if i%4 == 0 {
			c = color.NRGBA{255, 255, 255, 255}
		}
		m.SetNRGBA(i%side, i/side, c)
	}
	for _, to := range []int{8, 4, 2} {
		got, _, err := scale.Down(encodePNG(t, m), to)
		if err != nil {
			t.Fatal(err)
		}
		out := musttest.Get(png.Decode(bytes.NewReader(got)))(t)
		for i := range to * to {
			if c := out.At(i%to, i/to); !near(c, color.Gray{Y: 64}) {
				t.Errorf("pixel %d of %d is %v", i, to*to, c)
			}
		}
	}
}

func TestASmallPictureStaysAsItIs(t *testing.T) {
	data := encodePNG(t, picture(100, 100))
	if got, mime, err := scale.Down(data, 100); err != nil || mime != "" || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %q, %v", len(got), mime, err)
	}
}

// A PNG of 33 bytes can claim to have billions of pixels.
func TestAPictureThatNeedsTooMuchMemoryIsNotDecoded(t *testing.T) {
	const tooMany = 5001
	for name, c := range map[string]struct {
		picture image.Image
		side    uint32
		refused bool
	}{
		"billions of pixels":               {picture(2, 2), 60_000, true},
		"just too many":                    {picture(2, 2), tooMany, true},
		"not too many":                     {picture(2, 2), tooMany - 1, false},
		"just too many with 16 bits":       {image.NewNRGBA64(image.Rect(0, 0, 2, 2)), 3536, true},
		"not too many pixels with 16 bits": {image.NewNRGBA64(image.Rect(0, 0, 2, 2)), 3535, false},
	} {
		data := encodePNG(t, c.picture)
		binary.BigEndian.PutUint32(data[16:], c.side)
		binary.BigEndian.PutUint32(data[20:], c.side)
		binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
		if _, _, err := scale.Down(data, 100); err == nil || errors.Is(err, scale.ErrTooManyPixels) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A decoder needs much more memory for a JPEG file whose pixels come in several passes.
func TestAProgressivePictureHasALowerLimit(t *testing.T) {
	for marker, refused := range map[byte]bool{0xc0: false, 0xc2: true} {
		data := encodeJPEG(t, picture(64, 64))
		at := bytes.Index(data, []byte{0xff, 0xc0})
		data[at+1] = marker
		binary.BigEndian.PutUint16(data[at+5:], 4000)
		binary.BigEndian.PutUint16(data[at+7:], 4000)
		if _, _, err := scale.Down(data, 100); err == nil || errors.Is(err, scale.ErrTooManyPixels) != refused {
			t.Errorf("marker %x: %v", marker, err)
		}
	}
}

func TestAPictureWithTooManyBytesIsEncodedAgain(t *testing.T) {
	noise := image.NewNRGBA(image.Rect(0, 0, 1200, 1000)) // PNG cannot compress it
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(random.Uint32()) | byte(i%4/3*255)
	}
	data := encodePNG(t, noise)
	if len(data) <= scale.MaxBytes {
		t.Fatalf("only %d bytes", len(data))
	}
	got, mime, err := scale.Down(data, 2000)
	if err != nil || mime != "image/jpeg" || len(got) > scale.MaxBytes {
		t.Fatalf("%d bytes, %q, %v", len(got), mime, err)
	}
	if c, err := jpeg.DecodeConfig(bytes.NewReader(got)); err != nil || c.Width != 1200 || c.Height != 1000 {
		t.Errorf("%d × %d, %v", c.Width, c.Height, err)
	}
}

func TestATransparentPictureStaysTransparent(t *testing.T) {
	m := picture(200, 200)
	m.SetNRGBA(0, 0, color.NRGBA{})
	m.SetNRGBA(1, 0, color.NRGBA{})
	m.SetNRGBA(0, 1, color.NRGBA{})
	m.SetNRGBA(1, 1, color.NRGBA{})
	got, mime, err := scale.Down(encodePNG(t, m), 100)
	if err != nil || mime != "image/png" {
		t.Fatal(mime, err)
	}
	out := musttest.Get(png.Decode(bytes.NewReader(got)))(t)
	if _, _, _, alpha := out.At(0, 0).RGBA(); alpha != 0 {
		t.Errorf("alpha %d", alpha)
	}
}

func TestAScaledPhotoIsStillTurnedTheRightWay(t *testing.T) {
	data := encodeJPEG(t, picture(200, 100))
	exif := append([]byte{0xff, 0xe1, 0, 14}, "Exif\x00\x00turned"...)
	turned := append(append([]byte{0xff, 0xd8}, exif...), data[2:]...)
	got, _, err := scale.Down(turned, 100)
	if err != nil || !bytes.HasPrefix(got[2:], exif) {
		t.Errorf("%.30q, %v", got, err)
	}
	if _, err := jpeg.Decode(bytes.NewReader(got)); err != nil {
		t.Error(err)
	}
}

func TestADamagedPictureIsAnError(t *testing.T) {
	data := encodePNG(t, picture(200, 200))
	for name, bad := range map[string][]byte{"header": data[:20], "pixels": data[:60], "text": []byte("hello")} {
		if _, _, err := scale.Down(bad, 100); err == nil || errors.Is(err, scale.ErrTooManyPixels) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
