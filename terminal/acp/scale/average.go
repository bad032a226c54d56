package scale

import (
	"image"
	"image/draw"
)

// channels is the number of values of a pixel: red, green, blue and alpha.
const channels = 4

// average makes a picture smaller: each new pixel is the average of the area that it covers.
//
// Positions are integers: a pixel of the source is width wide and height high, a pixel of the
// result as wide and high as the source has pixels. All weights of one new pixel add up to the
// number of pixels of the source.
func average(src image.Image, width, height int) *image.RGBA {
	b := src.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	row := image.NewRGBA(image.Rect(0, 0, b.Dx(), 1))
	narrow := make([]uint64, width*channels) // the current row of the source, in the new width
	sums := make([]uint64, width*channels)   // of the current new row
	total := uint64(b.Dx()) * uint64(b.Dy())
	for y, newY := 0, 0; y < b.Dy(); y++ {
		draw.Draw(row, row.Bounds(), src, image.Pt(b.Min.X, b.Min.Y+y), draw.Src)
		averageRow(narrow, row.Pix, b.Dx(), width)
		top, bottom := y*height, (y+1)*height
		end := (newY + 1) * b.Dy()
		addRow(sums, narrow, min(bottom, end)-top)
		if bottom < end {
			continue
		}
		writeRow(out.Pix[newY*out.Stride:], sums, total)
		clear(sums)
		addRow(sums, narrow, bottom-end)
		newY++
	}
	return out
}

// averageRow adds up the pixels of a row for each pixel of the narrower one.
func averageRow(narrow []uint64, pix []uint8, from, to int) {
	clear(narrow)
	for x, newX := 0, 0; x < from; x++ {
		p := pix[x*channels : x*channels+channels]
		left, right, end := x*to, (x+1)*to, (newX+1)*from
		addPixel(narrow[newX*channels:], p, min(right, end)-left)
		if right < end {
			continue
		}
		if newX++; right > end {
			addPixel(narrow[newX*channels:], p, right-end)
		}
	}
}

func addPixel(sums []uint64, p []uint8, weight int) {
	for c := range channels {
		sums[c] += uint64(p[c]) * uint64(weight)
	}
}

func addRow(sums, row []uint64, weight int) {
	if weight <= 0 {
		return
	}
	for i, v := range row {
		sums[i] += v * uint64(weight)
	}
}

func writeRow(pix []uint8, sums []uint64, total uint64) {
	for i, v := range sums {
		pix[i] = uint8((v + total/2) / total)
	}
}
