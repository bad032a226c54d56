package words

import (
	_ "embed" // for the language files
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
	texts    func() []string // in the order of keys
}{
	{English, sync.OnceValue(func() []string { return readTexts(english) })},
	{German, sync.OnceValue(func() []string { return readTexts(german) })},
}

// readTexts returns the texts of a file, which has each text on a line of its own. The texts share
// the memory of the file, except for the few with escapes; a JSON parser would copy all of them.
func readTexts(file string) []string {
	texts := make([]string, len(keys))
	for line := range strings.Lines(file) {
		name, quoted, _ := strings.Cut(strings.TrimSpace(line), `": `)
		text, err := strconv.Unquote(strings.TrimSuffix(quoted, ","))
		if err != nil {
			continue // a comment or a section
		}
		if at, ok := slices.BinarySearch(keys, Key(strings.TrimPrefix(name, `"`))); ok {
			texts[at] = text
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
func Keys() []Key { return slices.Clone(keys) }

// Template returns a text of the catalogue with its placeholders; "": there is no such text.
func Template(k Key, l Language) string {
	at, ok := slices.BinarySearch(keys, k)
	for _, f := range files {
		if ok && f.language == l {
			return f.texts()[at]
		}
	}
	return ""
}
