package downloads

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName keeps names, with what is put before and behind them, below the 255 bytes that file
// systems allow.
const maxName = 200

// Name makes a file name of what a sender calls a file: the last part of a path, without what
// terminals and shells stumble over, not too long, and with its extension. What has no name is
// called otherwise.
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
