package terminal

import (
	"encoding/json"
	"strings"
)

// Stderr returns the last line of the agent's standard error, which usually has the reason, led by
// a colon; "" if there is none.
func (t *Trial) StderrSuffix() string {
	lines := strings.Split(strings.TrimSpace(t.Outcome.Stderr), "\n")
	last := []rune(Clean(strings.TrimSpace(lines[len(lines)-1])))
	if len(last) == 0 {
		return ""
	}
	return ": " + string(last[:min(len(last), 300)])
}

// FrameTypes are the types of frames that an agent may print.
func FrameTypes() []string { return []string{"message", "progress", "error", "log", "ask"} }

// Count counts the lines of output that are frames, by type, and the others.
func (t *Trial) CountFrames() (frames map[string]int, plain int) {
	frames = map[string]int{}
	for line := range strings.Lines(string(t.Output)) {
		line = strings.TrimSpace(line)
		var f struct {
			Type *string `json:"type"`
		}
		switch err := json.Unmarshal([]byte(line), &f); {
		case line == "":
		case err == nil && f.Type != nil:
			frames[*f.Type]++
		default:
			plain++
		}
	}
	return frames, plain
}
