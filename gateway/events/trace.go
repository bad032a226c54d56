package events

import "time"

// Trace is what was seen of a turn beyond its answer.
type Trace struct {
	Lines  []TraceLine `json:"lines"`
	Missed int         `json:"missed,omitempty"` // older lines that were not kept
	Stderr string      `json:"stderr,omitempty"` // its end
}

// TraceLine is one frame.
type TraceLine struct {
	Time  time.Time `json:"time"`
	Kind  string    `json:"kind"`
	Level string    `json:"level,omitempty"`
	Text  string    `json:"text"`
}
