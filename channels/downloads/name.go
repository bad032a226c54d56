package downloads

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName keeps names below the 255 bytes that file systems allow, with the prefixes and suffixes
// that are added.
const maxName = 200

// Name returns a safe file name for the name that a sender gave: the last part of a path, without
// characters that are special to terminals and shells, shortened, with its extension. It returns
// otherwise if no name is left.
func Name(name, otherwise string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || strings.ContainsRune(`<>:"|?*`, r) {
			return '_'
		}
		return r
	}, name))
	if strings.Trim(name, "._ ") == "" {
		return otherwise
	}
	if len(name) <= maxName {
		return name
	}
	ext := filepath.Ext(name)
	if len(ext) > 20 {
		ext = ""
	}
	stem := name[:maxName-len(ext)]
	for !utf8.ValidString(stem) {
		stem = stem[:len(stem)-1]
	}
	return stem + ext
}

// SavedName is Name for a file that an agent works on: without blanks, which many commands take for
// the end of a name.
func SavedName(name, otherwise string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, Name(name, otherwise))
}
