package rich

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote returns the content of a scanned string. Lone surrogates and invalid UTF-8 become U+FFFD.
func unquote(b []byte) string {
	if isPlain(b) && utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '\\')
		if n < 0 {
			n = len(b) - i
		}
		out.Write(b[i : i+n])
		if i += n; i == len(b) {
			break
		}
		if b[i+1] != 'u' {
			out.WriteByte(unescaped[b[i+1]])
			i += 2
			continue
		}
		r, n := decodeUnicodeEscape(b[i:])
		out.WriteRune(r)
		i += n
	}
	if text := out.String(); utf8.ValidString(text) {
		return text
	}
	return string([]rune(out.String())) // each invalid byte becomes U+FFFD
}

var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// decodeUnicodeEscape decodes the \uXXXX at the start of b, together with a second one if they are
// a surrogate pair.
func decodeUnicodeEscape(b []byte) (r rune, n int) {
	r = hex4(b[2:6])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(b[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 returns the value of four hexadecimal digits, or -1.
func hex4(b []byte) (r rune) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
