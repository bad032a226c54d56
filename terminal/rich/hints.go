package rich

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nanobot/config"
	"nanobot/terminal"
)

// maxHinted is the longest line that is examined for a hint.
const maxHinted = 64 << 10

// frameKeys are the keys of frames, each with words that agents use for it by mistake.
var frameKeys = map[string][]string{
	"text":  {"content", "message", "body", "msg", "markdown", "value"},
	"media": {"file", "files", "image", "images", "attachment", "attachments", "path", "paths"},
	"type":  {"kind"},

	"input_tokens":  {"inputtokens", "prompt_tokens", "input"},
	"output_tokens": {"outputtokens", "completion_tokens", "output"},
	"cost":          {"cost_usd", "total_cost", "total_cost_usd", "price"},
}

// hintUnknownType returns the warning about a frame of an unknown type.
func hintUnknownType(kind terminal.Kind) string {
	text := fmt.Sprintf("frame of unknown type %.40q ignored", string(kind))
	known := terminal.FrameTypes()
	if near := config.ClosestMatch(string(kind), known); near != "" {
		return text + fmt.Sprintf("; did you mean %q?", near)
	}
	return text + "; the types are " + strings.Join(known, ", ")
}

// hintWrongKey returns a hint for a frame that lacks all of these keys and has another one instead,
// or "".
func hintWrongKey(line []byte, missing ...string) string {
	if len(line) > maxHinted {
		return ""
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(line, &object) != nil {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		for _, want := range missing {
			if slices.Contains(frameKeys[want], strings.ToLower(key)) || config.ClosestMatch(key, []string{want}) != "" &&
				key != want {
				return fmt.Sprintf("the frame has %.40q; did you mean %q?", key, want)
			}
		}
	}
	return ""
}

// hintWrongDelta logs that a delta without text has another key instead.
func hintWrongDelta(t terminal.Turn, line []byte) error {
	hint := hintWrongKey(line, "text")
	if hint == "" {
		return nil
	}
	return emitWarning(t, terminal.AlmostRightFrame, "delta frame without text: "+hint)
}

// lineHints finds mistakes in lines that are not frames, and reports each kind of mistake once.
type lineHints struct {
	inObject          bool // a line that begins an object came before
	spread, wrongType bool // reported
}

// find returns a hint about the next line that is no frame, or "".
func (h *lineHints) find(line []byte) string {
	trimmed := bytes.TrimSpace(line)
	switch {
	case string(trimmed) == "{":
		h.inObject = true
	case h.inObject && bytes.HasPrefix(trimmed, []byte(`"type"`)) && !h.spread:
		h.spread = true
		return "the output looks like a JSON object over several lines, which is sent as text: print each frame on one " +
			"line (json.dumps without indent, jq -c)"
	case bytes.HasPrefix(trimmed, []byte("}")):
		h.inObject = false
	case bytes.HasPrefix(trimmed, []byte("{")) && !h.wrongType && bytes.Contains(trimmed, []byte(`"text"`)):
		if hint := hintWrongKey(trimmed, "type"); hint != "" {
			h.wrongType = true
			return "a line of JSON without \"type\" is sent as text: " + hint
		}
	}
	return ""
}
