// Package scale makes pictures smaller for models, which accept only pictures of a limited size and
// cost more for large ones. It knows nothing of agents and files.
package scale

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/gif" // decodes the first picture of an animation
	"image/jpeg"
	"image/png"
	"sync"

	_ "golang.org/x/image/webp" // decodes pictures that are not animated
)

const (
	// MaxMemory limits the memory in which a picture is decoded, in bytes: a small file can claim
	// to be a huge picture.
	MaxMemory = 100_000_000
	// MaxBytes is the size of a file that is returned as it is. Providers limit a picture in base64
	// to 5 MB.
	MaxBytes = 3_500_000
)

// jpegQualities are tried until the file is small enough. The first makes the loss invisible.
var jpegQualities = []int{90, 70, 50}

// ErrTooManyPixels means that a picture is too large to be decoded.
var ErrTooManyPixels = errors.New("the picture has too many pixels")

// decoding is locked while a picture is decoded, so that only one needs memory at a time.
var decoding sync.Mutex

// Down returns a picture whose longer side has at most side pixels in a file of about MaxBytes at
// most, and its MIME type. A picture that is small enough is returned as it is, with the type "".
// An error other than ErrTooManyPixels means that the picture is not of a known format or is
// damaged.
func Down(data []byte, side int) (scaled []byte, mime string, err error) {
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("read picture: %w", err)
	case c.Width <= side && c.Height <= side && len(data) <= MaxBytes:
		return data, "", nil
	case int64(c.Width)*int64(c.Height) > MaxMemory/pixelSize(c, data):
		return nil, "", ErrTooManyPixels
	}
	decoding.Lock()
	defer decoding.Unlock()
	src, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, "", fmt.Errorf("decode picture: %w", err)
	}
	width, height := fit(src.Bounds().Dx(), src.Bounds().Dy(), side)
	return encode(shrink(src, width, height), format, data)
}

// pixelSize returns how many bytes a decoder needs for a pixel at most.
func pixelSize(c image.Config, data []byte) int64 {
	switch c.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	if isProgressive(data) {
		return 15 // three coefficients of four bytes, and the pixel itself
	}
	return 4
}

// fit returns the size with the same proportions whose longer side is at most side.
func fit(width, height, side int) (w, h int) {
	side = min(side, max(width, height))
	if width >= height {
		return side, max(1, (height*side+width/2)/width)
	}
	return max(1, (width*side+height/2)/height), side
}

// encode returns the picture as a JPEG if the original was one, and otherwise as a PNG, unless that
// is too large or the picture is a photo.
func encode(m *image.RGBA, format string, original []byte) (data []byte, mime string, err error) {
	var out bytes.Buffer
	if opaque := m.Opaque(); format == "png" || format == "gif" || !opaque {
		if err := png.Encode(&out, m); err != nil {
			return nil, "", fmt.Errorf("encode picture: %w", err)
		}
		if out.Len() <= MaxBytes {
			return out.Bytes(), "image/png", nil
		}
		if !opaque {
			onWhite(m)
		}
	}
	for _, quality := range jpegQualities {
		out.Reset()
		if err := jpeg.Encode(&out, m, &jpeg.Options{Quality: quality}); err != nil {
			return nil, "", fmt.Errorf("encode picture: %w", err)
		}
		if out.Len() <= MaxBytes {
			break
		}
	}
	if format == "jpeg" {
		return withExif(out.Bytes(), exifOf(original)), "image/jpeg", nil
	}
	return out.Bytes(), "image/jpeg", nil
}

// onWhite removes the transparency of a picture.
func onWhite(m *image.RGBA) {
	copied := *m
	copied.Pix = bytes.Clone(m.Pix)
	draw.Draw(m, m.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(m, m.Bounds(), &copied, copied.Bounds().Min, draw.Over)
}
