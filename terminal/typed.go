package terminal

import (
	"bytes"
	"html"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// coarse is more than the grain of the file system's clock, which may be behind ours by that
	// much.
	coarse = 20 * time.Millisecond
	// maxTyped bounds how many paths are looked for in what the person wrote.
	maxTyped = 20_000
)

// typed knows what the person wrote. An agent that repeats it would otherwise send any file whose
// path somebody types.
type typed struct {
	texts func() []string
	began time.Time // of the turn
	dirs  []string  // where relative paths may begin
	home  string
}

// echoes returns a function that reports whether a path found in an agent's output, of a file that
// may be nil, is only repeated: it stands in what the person wrote, and the file was not written
// during the turn.
func (t typed) echoes() func(path string, file fs.FileInfo) bool {
	if t.texts == nil {
		return func(string, fs.FileInfo) bool { return false }
	}
	texts := t.texts()
	for _, text := range t.texts() {
		if plain := unescape(text); plain != text {
			texts = append(texts, plain)
		}
	}
	folded := fold(strings.Join(texts, "")) // a path may be split over several
	var known map[fileID]bool               // by other spellings; made when it is needed
	complete := true
	return func(path string, file fs.FileInfo) bool {
		if file != nil && t.written(file) {
			return false
		}
		if strings.Contains(folded, fold(path)) {
			return true
		}
		if file == nil {
			return false
		}
		if known == nil {
			known, complete = t.identities(texts)
		}
		id, _ := idOf(file)
		return known[id] || !complete
	}
}

// written reports whether a file was made or changed since the turn began. The time of the last
// write would not tell: an archive may have set it to one in the future.
func (t typed) written(file fs.FileInfo) bool {
	return !changedAt(file).Before(t.began.Add(-coarse))
}

// fold leaves the letters and digits of a text, so that quotes, escapes, case and the ways in which
// Unicode writes the same letter make no difference.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKD.String(text))
}

// unescape resolves the percent-encoding and the character references (&#47;) in a text.
func unescape(text string) string {
	text = html.UnescapeString(text)
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if i+2 < len(text) && text[i] == '%' {
			if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// identities are the files whose paths stand in texts, in whatever spelling. It reports false if
// there are too many to look at.
func (t typed) identities(texts []string) (ids map[fileID]bool, complete bool) {
	ids = map[fileID]bool{}
	looked := 0
	for _, text := range texts {
		for line := range strings.Lines(text) {
			for path := range t.paths([]byte(line)) {
				if looked++; looked > maxTyped {
					return ids, false
				}
				if info, err := os.Stat(path); err == nil {
					id, _ := idOf(info)
					ids[id] = true
				}
			}
		}
	}
	return ids, true
}

// paths are all that could be a path in a line. It is far more generous than FindMediaPaths: what
// is taken for a path here is only not sent.
func (t typed) paths(line []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for end := 1; end <= len(line); end++ {
			low := max(0, end-maxPath)
			switch {
			case end < len(line) && isWordByte(line[end]):
				continue
			case extensionEnds(line[:end], end): // there may be spaces in it
			case end == len(line) || endsToken(line[end]):
				low += bytes.LastIndexFunc(line[low:end], func(r rune) bool { return r < utf8.RuneSelf && endsToken(byte(r)) }) + 1
			default:
				continue
			}
			for at := bytes.LastIndexByte(line[low:end], '/'); at >= 0; at = bytes.LastIndexByte(line[low:low+at], '/') {
				for _, piece := range [][]byte{line[low+at : end], line[wordStart(line, low, low+at):end]} {
					for _, path := range t.spellings(string(piece)) {
						if !yield(path) {
							return
						}
					}
				}
			}
		}
	}
}

// wordStart returns where the word begins that the slash at i is in.
func wordStart(line []byte, low, i int) int {
	start := i
	for start > low && !endsToken(line[start-1]) && bytes.IndexByte([]byte("/([{=:,"), line[start-1]) < 0 {
		start--
	}
	if start > low && line[start-1] == '/' {
		return i // it begins before another slash
	}
	return start
}

// spellings are the absolute paths that a piece of text may mean.
func (t typed) spellings(text string) []string {
	forms := []string{text}
	if plain := strings.ReplaceAll(text, `\`, ""); plain != text {
		forms = append(forms, plain)
	}
	if plain, err := url.PathUnescape(text); err == nil && plain != text {
		forms = append(forms, plain)
	}
	var out []string
	for _, form := range forms {
		rest, tilde := strings.CutPrefix(form, "~/")
		switch {
		case filepath.IsAbs(form):
			out = append(out, filepath.Clean(form))
		case tilde && t.home != "":
			out = append(out, filepath.Join(t.home, rest))
		default:
			for _, dir := range t.dirs {
				out = append(out, filepath.Join(dir, form))
			}
		}
	}
	return out
}
