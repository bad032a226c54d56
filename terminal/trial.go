package terminal

import (
	"encoding/json"
	"strings"
)

// StderrSuffix returns the last line of stderr, which usually names the error, after a colon; "" if
// there is none.
func (t *Trial) StderrSuffix() string {
	lines := strings.Split(strings.TrimSpace(t.Outcome.Stderr), "\n")
	last := []rune(Clean(strings.TrimSpace(lines[len(lines)-1])))
	if len(last) == 0 {
		return ""
	}
	return ": " + string(last[:min(len(last), 300)])
}

// AssessFrames returns what the first error frame says, or that the trial has passed if there is
// none.
func (t *Trial) AssessFrames(passed string) Finding {
	for _, f := range t.Frames {
		if f.Kind == Error {
			return Finding{Verdict: Bad, Detail: f.Text + t.StderrSuffix(), Fix: t.ByHand}
		}
	}
	return Finding{Detail: passed}
}

// FrameTypes are the types of frames that an agent may print.
func FrameTypes() []string { return []string{"message", "delta", "progress", "error", "log", "ask"} }

// CountFrames counts the lines of output that are frames, by type, and the other lines.
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
