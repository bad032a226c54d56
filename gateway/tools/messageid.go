package tools

import (
	"bytes"
	"encoding/json"

	"nanobot/internal/lazyregexp"
)

// maxID limits the ID that is echoed in the refusal of a message, and maxTail how much of the end
// of a message that is too long is searched for it.
const maxID, maxTail = 256, 1024

var (
	noID  = json.RawMessage("null")
	idKey = lazyregexp.New(`[{,]\s*"id"\s*:`)
)

// findID returns the ID of a message, or of the beginning of one, as JSON: a string or a number, or
// null if none was found.
func findID(message []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(message))
	if start, _ := d.Token(); start != json.Delim('{') {
		return noID
	}
	for {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return noID
		}
		if key == "id" {
			if _, err := d.Token(); err != nil { // the end may be missing
				return noID
			}
			return checkID(value)
		}
	}
}

// findIDAtEnd returns the ID of a message of which only the end is known. If the rest of it is
// balanced, the ID is not nested. Some clients write it after the parameters.
func findIDAtEnd(tail []byte) json.RawMessage {
	for _, at := range idKey().FindAllIndex(tail, -1) {
		var m struct{ ID json.RawMessage }
		if json.Unmarshal(append([]byte("{"), tail[at[0]+1:]...), &m) == nil {
			return checkID(m.ID)
		}
	}
	return noID
}

func checkID(id json.RawMessage) json.RawMessage {
	if b := id[0]; len(id) > maxID || b != '"' && b != '-' && (b < '0' || b > '9') {
		return noID
	}
	return id
}
