package view

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/process"
	"nanobot/terminal/steps"
)

// maxOwnOutput limits the stored output of a terminal that the agent runs itself.
const maxOwnOutput = 8 << 10

// toolMeta is the metadata of an update, mostly about a terminal that the agent runs itself. The
// fields are no part of the protocol's schema; several agents send them to clients with the
// capability _meta.terminal_output.
type toolMeta struct {
	// Output and OutputDelta are the next part of the output. An agent sends one of them.
	Output      rpc.Optional[outputPart]   `json:"terminal_output"`
	OutputDelta rpc.Optional[outputPart]   `json:"terminal_output_delta"`
	Exit        rpc.Optional[terminalExit] `json:"terminal_exit"`
	Claude      rpc.Optional[claudeMeta]   `json:"claudeCode"`
}

// claudeMeta is metadata of Claude Code.
type claudeMeta struct {
	Kind string `json:"kind"` // "informational": the text is a notice, not the model's
}

type outputPart struct {
	Data string `json:"data"`
}

// terminalExit is how a command ended. Both fields are null if the agent does not know.
type terminalExit struct {
	Code   rpc.Optional[int]    `json:"exit_code"`
	Signal rpc.Optional[string] `json:"signal"`
}

// describe says how the command ended; "": unknown, or without an error.
func (e terminalExit) describe(w words.Words) string {
	switch {
	case e.Signal.V != "":
		return w.Text(words.KilledBy, e.Signal.V)
	case e.Code.V != 0:
		return w.Text(words.ExitCode, strconv.Itoa(e.Code.V))
	}
	return ""
}

// toolOutput is the output of a tool call, as far as it is known.
type toolOutput struct {
	own  *process.Bounded // output of a terminal that the agent runs itself; nil: none
	exit terminalExit     // of that terminal
	raw  string           // the end of the text in rawOutput
	// fromClient says that the step's output was read from a terminal of the client. Later text
	// replaces no output.
	fromClient bool
}

// apply merges the output in an update.
func (o *toolOutput) apply(meta toolMeta, raw json.RawMessage) {
	data := meta.Output.V.Data
	if data == "" {
		data = meta.OutputDelta.V.Data
	}
	if data != "" {
		if o.own == nil {
			o.own = process.NewBounded(0, maxOwnOutput)
		}
		_, _ = o.own.Write([]byte(data))
	}
	if meta.Exit.OK {
		o.exit = meta.Exit.V
	}
	if text := rawOutputText(raw); text != "" {
		o.raw = strings.Clone(steps.EndOf(text))
	}
}

// rawOutputText returns the text in a tool's raw output, which has no fixed schema: a text, or an
// object with one of the names that agents use.
func rawOutputText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var text rpc.Optional[string]
	_ = json.Unmarshal(raw, &text) // never fails
	if text.OK {
		return text.V
	}
	var fields map[string]rpc.Optional[string]
	_ = json.Unmarshal(raw, &fields) // the output may be of any type
	for _, name := range []string{"error", "message", "stderr", "output", "stdout"} {
		if s := fields[name].V; strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// refreshTerminals updates the output of terminals on the board, and repeats while a tool call uses
// a terminal.
func (v *View) refreshTerminals() {
	if v.board.refresh() { // output of a command is a sign of life
		v.markAlive()
	}
	v.showBoard()
	for _, t := range v.board.tools {
		if t.Running() && len(t.terminals) > 0 {
			v.due.terminals.Schedule(terminalInterval)
		}
	}
}

// updateTail reads the last lines of a tool call's output: of its terminals of the client, else of
// a terminal of the agent, else of its text. A terminal that was released keeps its last lines. It
// reports whether they have changed.
func (b *board) updateTail(t *ToolCall) (changed bool) {
	before := t.step.Output
	for _, id := range t.terminals {
		if b.table == nil {
			break
		}
		if out, err := b.table.Output(id); err == nil {
			t.step.Output, t.output.fromClient = steps.LastLines(out.Text), true
		}
	}
	if !t.output.fromClient {
		if lines := t.ownLines(b.Words); lines != nil {
			t.step.Output = lines
		}
	}
	return !slices.Equal(before, t.step.Output)
}

// ownLines returns the last lines of output that the agent has reported itself. Text is output of
// commands and of calls that have failed; of other calls it is what they have found. A failed
// command without output is described by its exit.
func (t *ToolCall) ownLines(w words.Words) []string {
	if t.output.own != nil {
		if lines := steps.LastLines(string(t.output.own.Tail())); lines != nil {
			return lines
		}
	}
	failed := t.status == "failed"
	if t.Kind != "execute" && !failed {
		return nil
	}
	for _, text := range []string{t.text(), t.output.raw} {
		if lines := steps.LastLines(text); lines != nil {
			return lines
		}
	}
	if text := t.output.exit.describe(w); failed && text != "" && t.step.Output == nil {
		return []string{text}
	}
	return nil
}

// text returns the end of the text in the content of a tool call, without the fences of code
// blocks.
func (t *ToolCall) text() string {
	var lines []string
	for _, b := range t.Content {
		if b.Type != "text" || t.Running() && t.repeatsInput(b.Text) {
			continue
		}
		for line := range strings.Lines(steps.EndOf(b.Text)) {
			if !strings.HasPrefix(line, "```") {
				lines = append(lines, strings.TrimRight(line, "\r\n"))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// repeatsInput reports whether a text is the tool's input as JSON, which some agents send as the
// content of a call until it has output: complete, or as much as the model has written of it.
func (t *ToolCall) repeatsInput(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && (!t.inputKnown || newToolInput(json.RawMessage(text)) == t.Input)
}

// SaveTail reads the last lines of a terminal before it is released.
func (v *View) SaveTail(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, t := range v.board.tools {
		if !v.closed && slices.Contains(t.terminals, id) {
			v.board.updateTail(t)
			v.due.board.Schedule(boardInterval)
		}
	}
}
