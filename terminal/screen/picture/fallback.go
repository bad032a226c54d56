package picture

import (
	"os"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
)

// SystemFonts are the fonts of Debian packages that have the characters which Go Mono lacks:
// fonts-dejavu-core (symbols), fonts-noto-cjk, fonts-wqy-zenhei (CJK) and fonts-symbola (emoji
// without colours). A font for CJK has 5 to 20 MB, so that none is part of the program.
var SystemFonts = []string{
	"/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
	"/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
	"/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc",
	"/usr/share/fonts/truetype/ancient-scripts/Symbola_hint.ttf",
}

// fallback has the fonts of the system that one picture uses. They are opened when a character is
// missing, and read in parts.
type fallback struct {
	paths []string // of the fonts that are not open yet
	files []*os.File
	faces []fallbackFace
}

type fallbackFace struct {
	font *opentype.Font
	face font.Face
}

func (f *fallback) close() {
	for _, file := range f.files {
		_ = file.Close() // it was only read
	}
}

// find returns the first font that has a glyph, or nil.
func (f *fallback) find(buffer *sfnt.Buffer, r rune) font.Face {
	for i := 0; ; i++ {
		for i == len(f.faces) {
			if len(f.paths) == 0 {
				return nil
			}
			f.openNext()
		}
		if index, err := f.faces[i].font.GlyphIndex(buffer, r); err == nil && index != 0 {
			return f.faces[i].face
		}
	}
}

// openNext opens the next font. One that is not there, or cannot be read, is skipped.
func (f *fallback) openNext() {
	path := f.paths[0]
	f.paths = f.paths[1:]
	file, err := os.Open(path)
	if err != nil {
		return
	}
	f.files = append(f.files, file)
	collection, err := opentype.ParseCollectionReaderAt(file)
	if err != nil {
		return
	}
	first, err := collection.Font(0)
	if err != nil {
		return
	}
	if face, err := opentype.NewFace(first, faceOptions); err == nil {
		f.faces = append(f.faces, fallbackFace{first, face})
	}
}
