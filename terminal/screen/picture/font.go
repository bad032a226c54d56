package picture

import (
	"image"
	"image/draw"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonobolditalic"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

const (
	// fontSize makes a character of Go Mono, which is 0.6 em wide, as wide as a cell.
	fontSize = 16.6
	// baseline is the distance of the baseline from the top of a cell.
	baseline = 15
)

// fonts are parsed once. Their methods may be called concurrently; those of a face may not.
var fonts = sync.OnceValues(func() ([]*opentype.Font, error) {
	var all []*opentype.Font
	files := [][]byte{gomono.TTF, gomonobold.TTF, gomonoitalic.TTF, gomonobolditalic.TTF}
	for _, data := range files {
		f, err := opentype.Parse(data)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
})

// faces rasterises glyphs for one picture.
type faces struct {
	fonts  []*opentype.Font
	faces  [4]font.Face // regular, bold, italic, bold italic; nil until used
	glyphs map[glyphKey]*image.Alpha
	buffer sfnt.Buffer
	// fallback has the characters that fonts lack, and missing those that it lacks, too.
	fallback fallback
	missing  []rune
}

// faceOptions are those of all faces.
var faceOptions = &opentype.FaceOptions{Size: fontSize, DPI: 72, Hinting: font.HintingFull}

type glyphKey struct {
	rune rune
	face int
}

func newFaces(system []string) (*faces, error) {
	all, err := fonts()
	if err != nil {
		return nil, err
	}
	return &faces{fonts: all, glyphs: map[glyphKey]*image.Alpha{}, fallback: fallback{paths: system}}, nil
}

// hasGlyph reports whether the fonts have a glyph. All four fonts have the same glyphs.
func (f *faces) hasGlyph(r rune) bool {
	index, err := f.fonts[0].GlyphIndex(&f.buffer, r)
	return err == nil && index != 0
}

// fallbackFont is the face of a glyphKey whose glyph is in the fallback.
const fallbackFont = -1

// glyph returns a coverage mask, placed relative to the top left corner of a cell; nil: no font has
// the character.
func (f *faces) glyph(r rune, bold, italic bool) *image.Alpha {
	key := glyphKey{rune: r}
	if !f.hasGlyph(r) {
		key.face = fallbackFont
	} else if bold {
		key.face |= 1
	}
	if italic && key.face != fallbackFont {
		key.face |= 2
	}
	g := f.glyphs[key]
	if _, known := f.glyphs[key]; !known {
		g = f.rasterise(key)
		f.glyphs[key] = g
		if g == nil {
			f.missing = append(f.missing, r)
		}
	}
	return g
}

func (f *faces) rasterise(key glyphKey) *image.Alpha {
	var face font.Face
	if key.face == fallbackFont {
		if face = f.fallback.find(&f.buffer, key.rune); face == nil {
			return nil
		}
	} else if face = f.faces[key.face]; face == nil {
		var err error
		face, err = opentype.NewFace(f.fonts[key.face], faceOptions)
		if err != nil { // only for invalid options
			return &image.Alpha{}
		}
		f.faces[key.face] = face
	}
	at, mask, from, _, ok := face.Glyph(fixed.P(0, baseline), key.rune)
	if !ok {
		return &image.Alpha{}
	}
	owned := image.NewAlpha(at) // the face reuses its mask
	draw.Draw(owned, at, mask, from, draw.Src)
	for i, a := range owned.Pix { // 16 shades suffice, and leave fewer colours for the palette
		owned.Pix[i] = a&0xf0 | a>>4
	}
	return owned
}
