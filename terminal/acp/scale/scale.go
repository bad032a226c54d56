// Package scale makes pictures smaller for models, which accept only pictures of a limited size and
// cost more for large ones. It knows nothing of agents and files.
package scale

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	_ "image/gif" // decodes the first picture of an animation
	"image/jpeg"
	"image/png"
	"sync"

	_ "golang.org/x/image/webp" // decodes pictures that are not animated
)

const (
	// MaxPixels limits the pictures that are decoded. A decoder needs up to eight bytes per pixel,
	// and a small file can claim to be a huge picture.
	MaxPixels = 50_000_000
	// maxPNG is the largest PNG that is returned, in bytes. Providers limit a picture in base64 to
	// 5 MB.
	maxPNG = 3_500_000
	// jpegQuality makes the loss invisible.
	jpegQuality = 90
)

// ErrTooManyPixels means that a picture is too large to be decoded.
var ErrTooManyPixels = errors.New("the picture has too many pixels")

// decoding is locked while a picture is decoded, so that only one needs memory at a time.
var decoding sync.Mutex

// Down returns a picture whose longer side has at most side pixels, and its MIME type. A picture
// that is small enough is returned as it is, with the type "". An error other than ErrTooManyPixels
// means that the picture is not of a known format or is damaged.
func Down(data []byte, side int) (scaled []byte, mime string, err error) {
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("read picture: %w", err)
	case c.Width <= side && c.Height <= side:
		return data, "", nil
	case int64(c.Width)*int64(c.Height) > MaxPixels:
		return nil, "", ErrTooManyPixels
	}
	decoding.Lock()
	defer decoding.Unlock()
	src, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, "", fmt.Errorf("decode picture: %w", err)
	}
	width, height := fit(src.Bounds().Dx(), src.Bounds().Dy(), side)
	return encode(average(src, width, height), format, data)
}

// fit returns the size with the same proportions whose longer side is side.
func fit(width, height, side int) (w, h int) {
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
		if out.Len() <= maxPNG {
			return out.Bytes(), "image/png", nil
		}
		if out.Reset(); !opaque {
			onWhite(m)
		}
	}
	if err := jpeg.Encode(&out, m, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return nil, "", fmt.Errorf("encode picture: %w", err)
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
