package words

import (
	_ "embed" // for the language files
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:generate go test -run TestTheKeysAreGeneratedFromTheEnglishFile -update

var (
	//go:embed en.jsonc
	english string
	//go:embed de.jsonc
	german string
)

// files are the language files. Each is read when its language is first used.
var files = []struct {
	language Language
	texts    func() map[Key]string
}{
	{English, sync.OnceValue(func() map[Key]string { return readTexts(english) })},
	{German, sync.OnceValue(func() map[Key]string { return readTexts(german) })},
}

// readTexts returns the texts of a file, which has each text on a line of its own. The texts share
// the memory of the file, except for the few with escapes; a JSON parser would copy all of them.
func readTexts(file string) map[Key]string {
	texts := map[Key]string{}
	for line := range strings.Lines(file) {
		name, quoted, _ := strings.Cut(strings.TrimSpace(line), `": `)
		text, err := strconv.Unquote(strings.TrimSuffix(quoted, ","))
		if err == nil { // otherwise it is a comment or a section
			texts[Key(strings.TrimPrefix(name, `"`))] = text
		}
	}
	return texts
}

// Languages returns all languages of the catalogue.
func Languages() (all []Language) {
	for _, f := range files {
		all = append(all, f.language)
	}
	return all
}

// Keys returns the keys of all texts, sorted.
func Keys() []Key { return slices.Sorted(maps.Keys(files[0].texts())) }

// Template returns a text of the catalogue with its placeholders; "": there is no such text.
func Template(k Key, l Language) string {
	for _, f := range files {
		if f.language == l {
			return f.texts()[k]
		}
	}
	return ""
}
