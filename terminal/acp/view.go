package acp

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/jobs"
)

const (
	// partialInterval is the time between updates of a growing answer, boardInterval between those
	// of the board, terminalInterval between those of terminal output on the board.
	partialInterval, boardInterval, terminalInterval = 100 * time.Millisecond, 200 * time.Millisecond, time.Second
	// albumWindow is how long a file waits for others to be sent in the same message.
	albumWindow = 200 * time.Millisecond
	// maxUnknownUpdates limits the unknown kinds of update that are logged.
	maxUnknownUpdates = 32
)

// view shows one turn of an agent in the chat. Its methods are safe for concurrent use; frames are
// emitted in the order of the calls.
type view struct {
	turn  terminal.Turn
	table *jobs.Table // nil if the agent has no terminals

	mu          sync.Mutex // also held during Emit, to keep the order
	err         error      // the first error of Emit
	rejected    bool       // a person has rejected something
	messageSent bool
	closed      bool
	background  bool // it shows work between turns
	// toldNobodyToAsk means that the person knows that nobody can be asked.
	toldNobodyToAsk bool

	text       segment
	lastRemark string // the agent's last text, if it is a remark
	files      pendingFiles
	changes    changes
	board      board
	costBefore *cost // of the session when the turn began; nil: unknown
	cost       cost  // of the session now

	unknownUpdates map[string]bool

	timer *time.Timer
	// When each is due; zero if nothing has changed.
	partialAt, boardAt, terminalsAt, filesAt, quietAt time.Time
	aliveAt                                           time.Time // the agent's last sign of life
}

func newView(t terminal.Turn, table *jobs.Table) *view {
	return &view{turn: t, table: table, board: newBoard(t.Words), changes: changes{words: t.Words, dir: t.ExecEnv().Dir}, unknownUpdates: map[string]bool{}}
}

// updateFields are the fields of all kinds of session/update.
type updateFields struct {
	Update    string               `json:"sessionUpdate"`
	Content   json.RawMessage      `json:"content"`
	MessageID rpc.Optional[string] `json:"messageId"`
	toolFields
	Entries rpc.Optional[[]rpc.Optional[planEntry]] `json:"entries"`
	Cost    rpc.Optional[cost]                      `json:"cost"`
}

// noticeID is the message ID of notices, which have none of their own.
const noticeID = "notice"

// messageID returns the ID of the message that a chunk belongs to, or "". Claude Code marks a
// notice of its own, which is not the model's text, only by its metadata.
func (c updateFields) messageID() string {
	if c.MessageID.V == "" && c.Meta.V.Claude.V.Kind == "informational" {
		return noticeID
	}
	return c.MessageID.V
}

// update shows one session/update. An error of Emit is returned by flushAndClose.
func (v *view) update(raw json.RawMessage) {
	var c updateFields
	if err := json.Unmarshal(raw, &c); err != nil {
		c.Update = "of no known form"
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.markAlive()
	switch c.Update {
	case "agent_message_chunk":
		v.addAnswer(c)
	case "agent_thought_chunk":
		v.setThinking(true)
	case "tool_call", "tool_call_update":
		v.applyToolCall(c)
	case "plan":
		v.board.plan = newPlan(c.Entries.V)
		v.schedule(&v.boardAt, boardInterval)
	case "usage_update":
		if c.Cost.OK {
			v.cost = c.Cost.V
		}
	case "user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update", "session_info_update":
		// The person's own words need no repetition, and the others are handled by the session.
	default:
		if !v.unknownUpdates[c.Update] && len(v.unknownUpdates) < maxUnknownUpdates {
			v.unknownUpdates[c.Update] = true
			v.log("debug", "session update %.40q ignored", c.Update)
		}
	}
}

// addAnswer adds a chunk of the agent's answer.
func (v *view) addAnswer(c updateFields) {
	v.setThinking(false)
	var b rpc.Block
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
	id := c.messageID()
	if v.text.isNewMessage(id) {
		v.sendText()
	}
	v.addText(b.Text, id)
}

// setThinking sets whether the board shows that the agent is thinking. The thoughts are not shown.
func (v *view) setThinking(now bool) {
	if v.board.thinking != now {
		v.board.thinking = now
		v.schedule(&v.boardAt, boardInterval)
	}
}

// flushAndClose emits everything that is pending, with the summary of the turn, and closes the
// view. followed says that a message of the gateway or an error follows, so that the view notifies
// nobody. It returns the first error of Emit.
func (v *view) flushAndClose(followed bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.emitEnd(followed)
		v.closed = true
		if v.timer != nil {
			v.timer.Stop()
		}
		v.files.remove()
	}
	return v.err
}

// discard closes a view that has nothing to emit.
func (v *view) discard() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	if v.timer != nil {
		v.timer.Stop()
	}
}

// emitPending emits everything that is pending, so that the next text is a message of its own.
func (v *view) emitPending() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	if !v.boardAt.IsZero() {
		v.showBoard()
	}
	v.flushMessages()
}

// showWorking shows the board before the agent has reported anything.
func (v *view) showWorking() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.schedule(&v.boardAt, boardInterval)
}

// beginQuestion emits everything that is pending, and shows that the turn waits for the person
// until endQuestion is called.
func (v *view) beginQuestion() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.board.questions++
	if !v.closed {
		v.flushMessages()
		v.showBoard()
	}
}

func (v *view) endQuestion() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.board.questions--
	v.aliveAt = time.Now()
	if !v.closed {
		v.schedule(&v.boardAt, boardInterval)
	}
}

// boardHidden reports whether the chat does not show the board.
func (v *view) boardHidden() bool { return v.turn.BoardHidden != nil && v.turn.BoardHidden() }

// markRejected records that a person has rejected something, so that they do not need to be told
// that the agent says nothing.
func (v *view) markRejected() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rejected = true
}

// hasShown reports whether the chat has received anything, or needs nothing.
func (v *view) hasShown() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.messageSent || v.rejected || v.text.hasText || v.lastRemark != "" || len(v.files.paths) > 0
}

// logLine emits a log frame in order with the other frames. After the turn it does nothing.
func (v *view) logLine(level, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
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
	v.messageSent = v.messageSent || f.Kind == terminal.Message
	if err := v.turn.Emit(f); err != nil {
		v.err = fmt.Errorf("emit %s: %w", f.Kind, err)
	}
}
