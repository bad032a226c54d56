package scale

import (
	"image"

	"golang.org/x/image/draw"
)

// shrink makes a picture smaller, by at most half in each step: the interpolator looks at four
// pixels for each new one. The kernels of draw look at all, in 32 bytes of memory for each.
func shrink(src image.Image, width, height int) *image.RGBA {
	for {
		b := src.Bounds()
		out := image.NewRGBA(image.Rect(0, 0, max(width, b.Dx()/2), max(height, b.Dy()/2)))
		draw.ApproxBiLinear.Scale(out, out.Bounds(), src, b, draw.Src, nil)
		if out.Rect.Dx() == width && out.Rect.Dy() == height {
			return out
		}
		src = out
	}
}
