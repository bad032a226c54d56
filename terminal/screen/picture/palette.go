package picture

import (
	"image"
	"image/color"
)

// withPalette returns the picture with a palette if 256 colours suffice, which makes the PNG of a
// text three times smaller.
func withPalette(img *image.RGBA) image.Image {
	indexed := image.NewPaletted(img.Rect, nil)
	indexes := map[color.RGBA]uint8{}
	var last color.RGBA // neighbours mostly have the same colour
	var index uint8
	for i := range indexed.Pix {
		p := img.Pix[4*i : 4*i+4 : 4*i+4]
		c := color.RGBA{p[0], p[1], p[2], p[3]}
		if c != last {
			known, ok := indexes[c]
			if !ok {
				if len(indexed.Palette) == 256 {
					return img
				}
				known = uint8(len(indexed.Palette))
				indexes[c] = known
				indexed.Palette = append(indexed.Palette, c)
			}
			last, index = c, known
		}
		indexed.Pix[i] = index
	}
	return indexed
}
