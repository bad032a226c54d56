// Package view shows the work of an agent in the chat: its messages, tool calls, plan and changes,
// on a board and in questions about them. It decides nothing, and knows nothing of sessions.
package view

import (
	"encoding/json"
	"sync"
	"time"

	"nanobot/internal/tasks"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/jobs"
	"nanobot/terminal/steps"
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

// View shows one turn of an agent in the chat. Its methods are safe for concurrent use; frames are
// emitted in the order of the calls.
type View struct {
	mu       sync.Mutex // also held during Emit, to keep the order
	out      *output
	due      *agenda
	messages messages
	board    board

	rejected   bool // a person has rejected something, and no tool call has succeeded since
	closed     bool
	background bool // it shows work between turns
	// toldNobodyToAsk means that the person knows that nobody can be asked.
	toldNobodyToAsk bool
	costBefore      *Cost // of the session when the turn began; nil: unknown
	cost            Cost  // of the session now
	unknownUpdates  map[string]bool
	began           time.Time
	aliveAt         time.Time // the agent's last sign of life
}

// New returns the view of a turn. table has the agent's terminals; nil: it has none.
func New(t terminal.Turn, table *jobs.Table) *View {
	out := &output{turn: t, dir: t.ExecEnv().Dir}
	v := &View{out: out, board: newBoard(out, table), unknownUpdates: map[string]bool{}, began: time.Now()}
	later := func(run func()) *tasks.Delayed {
		return tasks.NewDelayed(&v.mu, func() {
			if !v.closed {
				run()
			}
		})
	}
	v.due = &agenda{
		partial: later(v.messages.showPartial), board: later(v.showBoard), terminals: later(v.refreshTerminals),
		files: later(v.messages.sendFiles), quiet: later(v.checkQuiet),
	}
	v.messages, v.board.due = messages{output: out, due: v.due}, v.due
	return v
}

// agenda is what a view does later.
type agenda struct{ partial, board, terminals, files, quiet *tasks.Delayed }

func (a *agenda) cancel() {
	for _, t := range []*tasks.Delayed{a.partial, a.board, a.terminals, a.files, a.quiet} {
		t.Cancel()
	}
}

// NewBackground returns the view of the agent's work after a turn: messages are pushed, and there
// is no board.
func NewBackground(t terminal.Turn, table *jobs.Table) *View {
	t.Chat = pushChat{t.Chat}
	v := New(t, table)
	v.background = true
	return v
}

// pushChat is a chat between turns. It has no board, and its messages are pushed.
type pushChat struct{ terminal.Chat }

func (c pushChat) Emit(f terminal.Frame) error {
	if f.Kind != terminal.Message {
		return nil
	}
	return c.Push(f)
}

func (pushChat) BoardHidden() bool { return true }
func (pushChat) HasBoard() bool    { return false }

// updateFields are the fields of all kinds of session/update.
type updateFields struct {
	Update    string               `json:"sessionUpdate"`
	Content   json.RawMessage      `json:"content"`
	MessageID rpc.Optional[string] `json:"messageId"`
	ToolFields
	Entries rpc.Optional[[]rpc.Optional[steps.Entry]] `json:"entries"`
	Cost    rpc.Optional[Cost]                        `json:"cost"`
	// Severity and Description are of a notice, Compaction and Error of a compaction.
	Severity    rpc.Optional[string] `json:"severity"`
	Description rpc.Optional[string] `json:"description"`
	Compaction  rpc.Optional[string] `json:"compactionId"`
	Error       rpc.Optional[string] `json:"error"`
}

// Update shows one session/update. An error of Emit is returned by Close.
func (v *View) Update(raw json.RawMessage) {
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
		v.board.setThinking(true)
	case "tool_call", "tool_call_update":
		v.applyToolCall(c)
	case "notice":
		v.board.addNotice(c.Severity.V, c.Title.V+"\n"+c.Description.V)
	case "compaction_update", "compaction_summary_chunk":
		v.board.applyCompaction(c)
	case "plan":
		v.board.Plan = newPlan(c.Entries.V)
		v.due.board.Schedule(boardInterval)
	case "usage_update":
		if c.Cost.OK {
			v.cost = c.Cost.V
		}
	case "user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update",
		"session_info_update":
		// The person's own words need no repetition, and the others are handled by the session.
	default:
		if !v.unknownUpdates[c.Update] && len(v.unknownUpdates) < maxUnknownUpdates {
			v.unknownUpdates[c.Update] = true
			v.out.log("debug", "session update %.40q ignored", c.Update)
		}
	}
}

// addAnswer adds a chunk of the agent's answer.
func (v *View) addAnswer(c updateFields) {
	v.board.setThinking(false)
	var b rpc.Block
	if err := json.Unmarshal(c.Content, &b); err != nil {
		v.out.log("debug", "content that cannot be read ignored: %s", err)
		return
	}
	if b.Type != "text" {
		v.messages.showBlock(b)
		return
	}
	if b.Text == "" {
		return
	}
	// Claude Code marks a notice of its own, which is not the model's text, only by its metadata.
	if c.MessageID.V == "" && c.Meta.V.Claude.V.Kind == "informational" {
		v.board.addNotice("", b.Text)
		return
	}
	v.messages.sendFiles()
	id := c.MessageID.V
	if v.messages.text.isNewMessage(id) {
		v.messages.sendText()
	}
	v.messages.addText(b.Text, id)
}

// Discard closes a view that has nothing to emit.
func (v *View) Discard() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	v.due.cancel()
}

// Close emits everything that is pending, with the summary of the turn, and closes the
// view. followed says that a message of the gateway or an error follows, so that the view notifies
// nobody. If that is in next, next gets the files that have no message of the agent. Close returns
// the first error of Emit.
func (v *View) Close(followed bool, next *terminal.FinalResponse) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		if v.board.Count() == 0 || v.out.boardHidden() { // the summary does not have the notices
			v.out.emitText(v.board.Notices()) // the answer is to be the message that notifies
		}
		v.emitEnd(followed, next)
		v.messages.files.remove()
		v.closed = true
		v.due.cancel()
	}
	return v.out.err
}

// EmitPending emits everything that is pending, so that the next text is a message of its own.
func (v *View) EmitPending() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	if v.due.board.Cancel() {
		v.showBoard()
	}
	v.messages.flush()
}

// ShowWorking shows the board before the agent has reported anything.
func (v *View) ShowWorking() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.due.board.Schedule(boardInterval)
}

// MarkRejected records that a person has rejected something.
func (v *View) MarkRejected() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rejected = true
}

// End returns how the agent's work has ended so far, and a text that says so if the agent has said
// nothing since its last step; "": it has.
func (v *View) End() (status terminal.Status, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	m := &v.messages
	said := m.text.hasText || m.lastRemark != "" || len(m.files.paths) > 0
	var unsaid words.Key
	switch {
	case v.rejected:
		status, unsaid = terminal.Refused, words.AgentRefused
	case !said && v.board.LastState() == steps.Failed:
		status, unsaid = terminal.Failed, words.AgentStepFailed
	case said || v.out.answered:
		status, unsaid = terminal.Done, words.AgentDone
	default:
		status, unsaid = terminal.Silent, words.AgentEndedSilent
	}
	if said {
		return status, ""
	}
	return status, v.board.Words.Text(unsaid)
}

// Log emits a log frame in order with the other frames. After the turn it does nothing.
func (v *View) Log(level, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.out.log(level, format, args...)
	}
}

// AddNotice puts a text of the gateway before the agent's next text, which is then a message.
func (v *View) AddNotice(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.messages.text.isMessage = true
	v.messages.addText(text+"\n\n", "")
}
