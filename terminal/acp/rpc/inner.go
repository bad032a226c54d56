package rpc

import (
	"encoding/json"
	"strings"
)

// innerKeys are the fields of an error in which services and agents put its message.
var innerKeys = []string{
	"message", "error", "details", "detail", "error_description", "description", "errors", "reason", "title", "data",
}

// InnerMessage returns a text without JSON: a text that contains a JSON object is replaced by the
// message in it, or by what precedes it if it has none or is cut off.
func InnerMessage(text string) string {
	for i := range len(text) {
		if text[i] != '{' {
			continue
		}
		var object map[string]json.RawMessage
		err := json.NewDecoder(strings.NewReader(text[i:])).Decode(&object)
		switch before := strings.TrimRight(text[:i], " \t\r\n:,[(\"'"); {
		case err == nil && len(object) > 0:
			if inner := innerOf(object); inner != "" {
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
func innerOf(object map[string]json.RawMessage) string {
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
			text = strings.TrimSpace(InnerMessage(text))
		case json.Unmarshal(raw, &nested) == nil:
			text = innerOf(nested)
		case json.Unmarshal(raw, &list) == nil && len(list) > 0:
			text = strings.TrimSpace(InnerMessage(PlainText(list[0])))
		}
		if text != "" {
			return text
		}
	}
	return ""
}
