package events

import "time"

// Trace is the recorded output of a turn, including progress and log lines.
type Trace struct {
	Lines  []TraceLine `json:"lines"`
	Missed int         `json:"missed,omitempty"` // number of older lines that were dropped
	Stderr string      `json:"stderr,omitempty"` // its last part
}

// TraceLine is one frame.
type TraceLine struct {
	Time  time.Time `json:"time"`
	Kind  string    `json:"kind"`
	Level string    `json:"level,omitempty"`
	Text  string    `json:"text"`
}
