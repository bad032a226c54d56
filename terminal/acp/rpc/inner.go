package rpc

import (
	"encoding/json"
	"strings"
)

// innerKeys are the fields of an error in which services and agents put its message.
var innerKeys = []string{
	"message", "error", "details", "detail", "error_description", "description", "errors", "reason", "title", "data",
}

const (
	// maxInner limits the text in which JSON is searched, in bytes.
	maxInner = 64 << 10
	// maxInnerDepth limits the objects within each other, and maxBraces those that are tried.
	maxInnerDepth, maxBraces = 8, 32
)

// InnerMessage returns a text without JSON: a text that contains a JSON object is replaced by the
// message in it, or by what precedes it if it has none or is cut off.
func InnerMessage(text string) string {
	return innerMessage(text[:min(len(text), maxInner)], text, maxInnerDepth)
}

// innerMessage is InnerMessage for a text that begins with searched.
func innerMessage(searched, text string, depth int) string {
	braces := 0
	for i := range len(searched) {
		if searched[i] != '{' {
			continue
		}
		if braces++; depth == 0 || braces > maxBraces {
			return strings.TrimRight(text[:i], " \t\r\n:,[(\"'")
		}
		var object map[string]json.RawMessage
		err := json.NewDecoder(strings.NewReader(searched[i:])).Decode(&object)
		switch before := strings.TrimRight(text[:i], " \t\r\n:,[(\"'"); {
		case err == nil && len(object) > 0:
			if inner := innerOf(object, depth-1); inner != "" {
				return inner
			}
			return before
		case err != nil && strings.HasPrefix(strings.TrimLeft(text[i+1:], " \r\n\t"), `"`):
			return before
		}
	}
	return text
}

// innerOf returns the message of an object, or "".
func innerOf(object map[string]json.RawMessage, depth int) string {
	if depth == 0 {
		return ""
	}
	for _, key := range innerKeys {
		raw, ok := object[key]
		if !ok {
			continue
		}
		var nested map[string]json.RawMessage
		var list []json.RawMessage
		var text string
		switch {
		case json.Unmarshal(raw, &text) == nil:
			text = strings.TrimSpace(innerMessage(text, text, depth))
		case json.Unmarshal(raw, &nested) == nil:
			text = innerOf(nested, depth-1)
		case json.Unmarshal(raw, &list) == nil && len(list) > 0:
			first := PlainText(list[0])
			text = strings.TrimSpace(innerMessage(first, first, depth-1))
		}
		if text != "" {
			return text
		}
	}
	return ""
}
