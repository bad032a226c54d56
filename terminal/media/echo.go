package media

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
	// ClockGranularity exceeds the granularity of file times, which may be behind our clock by that
	// much.
	ClockGranularity = 20 * time.Millisecond
	// maxCandidates bounds how many possible paths in the person's texts are examined.
	maxCandidates = 20_000
)

// EchoFilter recognizes paths that an agent only repeats from the person's texts. Otherwise people
// could make an agent that repeats them send any file.
type EchoFilter struct {
	Texts func() []string
	Began time.Time // beginning of the turn
	Dirs  []string  // in which relative paths may start
	Home  string
}

// Matcher returns a function that reports whether a path in an agent's output is only repeated: it
// is in the person's texts, and the file, which may be nil, was not written during the turn.
func (e EchoFilter) Matcher() func(path string, file fs.FileInfo) bool {
	texts := e.Texts()
	for _, text := range e.Texts() {
		if plain := decodeEscapes(text); plain != text {
			texts = append(texts, plain)
		}
	}
	folded := foldText(strings.Join(texts, "")) // a path may be split across texts
	var known map[fileID]bool                   // files by other spellings; computed when needed
	complete := true
	return func(path string, file fs.FileInfo) bool {
		if file != nil && e.writtenDuringTurn(file) {
			return false
		}
		if strings.Contains(folded, foldText(path)) {
			return true
		}
		if file == nil {
			return false
		}
		if known == nil {
			known, complete = e.filesInTexts(texts)
		}
		id, _ := idOf(file)
		return known[id] || !complete
	}
}

// writtenDuringTurn reports whether a file was created or changed since the turn began. The
// modification time would not do: unpacking an archive may set it to the future.
func (e EchoFilter) writtenDuringTurn(file fs.FileInfo) bool {
	return !changedAt(file).Before(e.Began.Add(-ClockGranularity))
}

// foldText reduces a text to its letters and digits, so that quotes, escapes, case and Unicode
// normalization make no difference.
func foldText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKD.String(text))
}

// decodeEscapes decodes percent-encoding and character references (&#47;) in a text.
func decodeEscapes(text string) string {
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

// filesInTexts returns the IDs of files whose paths are in the texts, in any spelling. complete is
// false if there are more than maxCandidates.
func (e EchoFilter) filesInTexts(texts []string) (ids map[fileID]bool, complete bool) {
	ids = map[fileID]bool{}
	looked := 0
	for _, text := range texts {
		for line := range strings.Lines(text) {
			for path := range e.candidatePaths([]byte(line)) {
				if looked++; looked > maxCandidates {
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

// candidatePaths returns everything in a line that could be a path. It is far more generous than
// FindPaths, since a false match only keeps a file from being sent.
func (e EchoFilter) candidatePaths(line []byte) iter.Seq[string] {
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
					for _, path := range e.absolutePaths(string(piece)) {
						if !yield(path) {
							return
						}
					}
				}
			}
		}
	}
}

// wordStart returns the start of the word that contains the slash at i.
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

// absolutePaths returns the absolute paths that a text may mean.
func (e EchoFilter) absolutePaths(text string) []string {
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
		case tilde && e.Home != "":
			out = append(out, filepath.Join(e.Home, rest))
		default:
			for _, dir := range e.Dirs {
				out = append(out, filepath.Join(dir, form))
			}
		}
	}
	return out
}
