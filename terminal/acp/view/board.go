package view

import (
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/jobs"
	"nanobot/terminal/steps"
)

// maxPlan limits the entries of a plan that are stored.
const maxPlan = 200

// board is the state of a turn that its progress message shows.
type board struct {
	steps.Board
	due       *agenda
	table     *jobs.Table // nil if the agent has no terminals
	changes   changes
	tools     map[string]*ToolCall // those that the board has steps of, by ID
	thinking  bool
	prompted  bool // the agent has the prompt
	questions int  // open questions
	// quietMinutes is how long the agent has been silent; 0: not for long.
	quietMinutes int
}

func newBoard(out *output, table *jobs.Table) board {
	w := out.turn.Words
	return board{
		Board: steps.Board{Words: w, Emit: func(f terminal.Frame) error {
			out.emit(f)
			return out.err
		}},
		table: table, changes: changes{words: w, dir: out.dir}, tools: map[string]*ToolCall{},
	}
}

// setThinking sets whether the board shows that the agent is thinking. The thoughts are not shown.
func (b *board) setThinking(now bool) {
	if b.thinking != now {
		b.thinking = now
		b.due.board.Schedule(boardInterval)
	}
}

// addTool adds a tool call.
func (b *board) addTool(id string) *ToolCall {
	t := &ToolCall{ID: id, status: "pending", words: b.Words, step: steps.Step{ID: id}, began: time.Now()}
	b.forget(b.Add(&t.step))
	b.tools[id] = t
	return t
}

// forget forgets the tool call of a step; nil: none.
func (b *board) forget(s *steps.Step) {
	if s != nil {
		delete(b.tools, s.ID)
	}
}

func newPlan(entries []rpc.Optional[steps.Entry]) (plan []steps.Entry) {
	for _, e := range entries[:min(len(entries), maxPlan)] {
		if e.V.Content = terminal.OneLine(e.V.Content, steps.TitleLength); e.OK && e.V.Content != "" {
			plan = append(plan, e.V)
		}
	}
	return plan
}

// activityLines says what the agent is doing, unless the line of a running tool call says so.
// text is the text that the agent is writing.
func (b *board) activityLines(text segment) (lines []string) {
	if text.hasText && !text.isMessage {
		lines = append(lines, steps.RemarkLine(string(text.buf)))
	}
	switch {
	case b.questions > 0: // the gateway says that the turn waits
	case b.thinking:
		lines = append(lines, "💭 "+b.Words.Text(words.AgentThinking))
	case len(lines) > 0 || b.Running() > 0:
	case b.prompted:
		lines = append(lines, b.Words.Text(words.AgentThinking))
	default:
		lines = append(lines, b.Words.Text(words.Working))
	}
	if b.quietMinutes > 0 {
		lines = append(lines, b.Words.Text(words.AgentSilent, b.quietMinutes))
	}
	return lines
}

func (v *View) showBoard() {
	v.due.board.Cancel()
	v.board.refresh()
	_ = v.board.Show(v.board.activityLines(v.messages.text)...) // Close returns the error
}

// refresh reads what has changed without an update of the agent. It reports whether there is
// output.
func (b *board) refresh() (hasOutput bool) {
	b.Changed = b.changes.summary()
	for _, t := range b.tools {
		if t.Running() {
			hasOutput = b.updateTail(t) || hasOutput
		}
	}
	return hasOutput
}
