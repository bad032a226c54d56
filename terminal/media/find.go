package media

import (
	"bytes"
	"path"
)

// mediaExtensions are the extensions that Terminal Protocol v1 lists.
var mediaExtensions = map[string]bool{
	"jpg": true, "jpeg": true, "png": true, "gif": true, "webp": true,
	"mp4": true, "mov": true, "avi": true, "mkv": true, "webm": true,
	"mp3": true, "ogg": true, "m4a": true, "wav": true, "flac": true,
	"pdf": true,
}

const (
	maxExtension = 4    // letters of the longest of them
	maxPath      = 4096 // the kernel's PATH_MAX: nothing longer can be opened
)

// FindPaths returns the absolute paths with a media extension in one line of text, in order:
// bare, quoted (then also with spaces), in parentheses or backticks, before punctuation, and as
// file:// URLs. It does not access the disk.
func FindPaths(line []byte) []string {
	var found []string
	for i := 0; ; {
		k := bytes.IndexByte(line[i:], '/')
		if k < 0 {
			return found
		}
		i += k
		if n := schemeEnd(line, i); n > 0 {
			i += n
			continue
		}
		n, scanned := quotedPath(line, i), 1
		if n == 0 {
			n, scanned = barePath(line, i)
		}
		if n > 0 {
			found = append(found, path.Clean(string(line[i:i+n])))
		}
		i += max(n, scanned)
	}
}

// schemeEnd returns how many bytes to skip from the slash at i if it belongs to the :// of a URL:
// the two slashes of file://, or the whole of any other URL.
func schemeEnd(line []byte, i int) int {
	if i == 0 || line[i-1] != ':' || !bytes.HasPrefix(line[i:], []byte("//")) {
		return 0
	}
	if bytes.HasSuffix(line[:i], []byte("file:")) {
		return 2
	}
	n := 2
	for i+n < len(line) && !endsToken(line[i+n]) {
		n++
	}
	return n
}

// quotedPath returns the length of the path that begins at i after a quote and ends before the same
// quote.
func quotedPath(line []byte, i int) int {
	if i == 0 || bytes.IndexByte([]byte("\"'`"), line[i-1]) < 0 {
		return 0
	}
	n := bytes.IndexByte(line[i:min(len(line), i+maxPath)], line[i-1])
	if n > 0 && extensionEnds(line[i:i+n], n) {
		return n
	}
	return 0
}

// barePath returns the length of the path that begins at i and ends with the first media extension
// at the end of a word. Without one it returns 0 and how many bytes it has scanned: no other path
// can begin in them, so no byte is scanned twice.
func barePath(line []byte, i int) (length, scanned int) {
	if i > 0 && isPathByte(line[i-1]) && !bytes.HasSuffix(line[:i], []byte("file://")) {
		return 0, 1
	}
	for n := 1; n <= maxPath; n++ {
		atEnd := i+n == len(line)
		if (atEnd || !isWordByte(line[i+n])) && extensionEnds(line[i:i+n], n) && endsPath(line[i+n:]) {
			return n, n
		}
		if atEnd || endsToken(line[i+n]) {
			return 0, n
		}
	}
	return 0, maxPath
}

// extensionEnds reports whether p[:n] ends with a dot and a media extension, in any case.
func extensionEnds(p []byte, n int) bool {
	dot := bytes.LastIndexByte(p[max(0, n-maxExtension-1):n], '.')
	if dot < 0 {
		return false
	}
	ext := p[max(0, n-maxExtension-1)+dot+1 : n]
	return mediaExtensions[string(bytes.ToLower(ext))]
}

// endsPath reports whether a path ends before rest: after /tmp/a.png a comma ends it; .bak and /b
// do not.
func endsPath(rest []byte) bool {
	for i, c := range rest {
		switch c {
		case '.', '-', '~':
			if i > 0 {
				return true
			}
		case '/':
			return i > 0
		default:
			return i == 0 || !isWordByte(c)
		}
	}
	return true
}

func endsToken(c byte) bool {
	return c <= ' ' || c == 0x7f || c == '"' || c == '\'' || c == '`' || c == '<' || c == '>' || c == '|'
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// isPathByte reports whether a slash after c belongs to a path that began earlier, so that ./a.png
// is not /a.png. Other scripts may touch a path without a space.
func isPathByte(c byte) bool {
	return isWordByte(c) || c == '.' || c == '-' || c == '~' || c == '/' || c == '\\' || c == '$' || c == '}' ||
		c == '+' || c == '%' || c == '@'
}
