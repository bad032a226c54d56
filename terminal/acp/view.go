package acp

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"nanobot/terminal"
	"nanobot/terminal/jobs"
)

const (
	// partialEvery is how often an answer that grows is shown, boardEvery how often what the agent
	// is at, glanceEvery how often the terminals of running commands are looked at.
	partialEvery, boardEvery, glanceEvery = 100 * time.Millisecond, 200 * time.Millisecond, time.Second
	// albumWithin is how close together pictures must come to be sent as one message.
	albumWithin = 200 * time.Millisecond
	// maxOdd is how many kinds of update that we do not know are named in the log.
	maxOdd = 32
)

// view shows in the chat what an agent does in one turn. Its methods may be called from any
// goroutine; what is shown has the order of the calls.
type view struct {
	turn  terminal.Turn
	table *jobs.Table // nil: the agent has no terminals

	mu    sync.Mutex // also held while something is emitted, so that order is kept
	err   error      // the first of Emit
	spoke bool
	over  bool
	// lonely says that the person was told that there is nobody to be asked.
	lonely bool

	text  segment
	files pending
	board board
	odd   map[string]bool

	timer *time.Timer
	// When each is to be shown; zero if nothing is new.
	partialAt, boardAt, glanceAt, filesAt time.Time
}

func newView(t terminal.Turn, table *jobs.Table) *view {
	return &view{turn: t, table: table, board: newBoard(), odd: map[string]bool{}}
}

// change is what one session/update says. It has the fields of all kinds.
type change struct {
	Update    string          `json:"sessionUpdate"`
	Content   json.RawMessage `json:"content"`
	MessageID maybe[string]   `json:"messageId"`
	toolFields
	Entries maybe[[]maybe[planEntry]] `json:"entries"`
}

// update shows one session/update. What cannot be emitted is told by flush.
func (v *view) update(raw json.RawMessage) {
	var c change
	if err := json.Unmarshal(raw, &c); err != nil {
		c.Update = "of no known form"
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return
	}
	switch c.Update {
	case "agent_message_chunk":
		v.say(c)
	case "agent_thought_chunk":
		v.think(true)
	case "tool_call", "tool_call_update":
		v.toolCall(c)
	case "plan":
		v.board.plan = newPlan(c.Entries.v)
		v.soon(&v.boardAt, boardEvery)
	case "user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update":
		// The person knows what he said, and the rest is for others than the chat.
	default:
		if !v.odd[c.Update] && len(v.odd) < maxOdd {
			v.odd[c.Update] = true
			v.log("debug", "session update %.40q ignored", c.Update)
		}
	}
}

// say adds a piece of the agent's answer.
func (v *view) say(c change) {
	v.think(false)
	var b block
	if err := json.Unmarshal(c.Content, &b); err != nil {
		v.log("debug", "content that cannot be read ignored: %s", err)
		return
	}
	if b.Type != "text" {
		v.showBlock(b)
		return
	}
	if b.Text == "" {
		return
	}
	v.sendFiles()
	if v.text.another(c.MessageID.v) {
		v.sendText()
	}
	for _, full := range v.text.add(b.Text, c.MessageID.v) {
		v.emitText(full)
		v.partialAt = time.Time{}
	}
	if v.text.ink {
		v.soon(&v.partialAt, partialEvery)
	}
}

// think notes whether the agent is thinking. What it thinks is its own business.
func (v *view) think(now bool) {
	if v.board.thinking != now {
		v.board.thinking = now
		v.soon(&v.boardAt, boardEvery)
	}
}

// flush emits what is open and shows nothing more. It returns the first error of Emit.
func (v *view) flush() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.over {
		v.settle()
		v.over = true
		if v.timer != nil {
			v.timer.Stop()
		}
		v.files.remove()
	}
	return v.err
}

// pause emits what is open, before something else is put into the chat.
func (v *view) pause() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.over {
		v.settle()
	}
}

func (v *view) settle() {
	if !v.boardAt.IsZero() {
		v.showBoard()
	}
	v.sendText()
	v.sendFiles()
}

// said reports whether the person has been told anything.
func (v *view) said() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.spoke || v.text.ink || len(v.files.paths) > 0
}

// note puts a line into the log, in its place between what is shown. After the turn there is none.
func (v *view) note(level, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.over {
		v.log(level, format, args...)
	}
}

func (v *view) log(level, format string, args ...any) {
	v.emit(terminal.Frame{Kind: terminal.Log, Level: level, Text: fmt.Sprintf(format, args...)})
}

func (v *view) emit(f terminal.Frame) {
	if v.err != nil {
		return
	}
	v.spoke = v.spoke || f.Kind == terminal.Message
	if err := v.turn.Emit(f); err != nil {
		v.err = fmt.Errorf("emit %s: %w", f.Kind, err)
	}
}
