package view

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/steps"
)

// ToolFields are the fields of a tool call and of its updates.
type ToolFields struct {
	ID        rpc.Optional[string]                   `json:"toolCallId"`
	Title     rpc.Optional[string]                   `json:"title"`
	Tool      rpc.Optional[string]                   `json:"name"`
	Kind      rpc.Optional[string]                   `json:"kind"`
	Status    rpc.Optional[string]                   `json:"status"`
	Locations rpc.Optional[[]rpc.Optional[location]] `json:"locations"`
	RawInput  json.RawMessage                        `json:"rawInput"`
	RawOutput json.RawMessage                        `json:"rawOutput"`
	Meta      rpc.Optional[toolMeta]                 `json:"_meta"`
}

// MaxLocations limits the files of a tool call that a permission covers. The question lists all of
// them.
const MaxLocations = 20

// File is a file that a tool call names: the agent's path, and the path without symbolic
// links.
type File struct{ Path, Real string }

type location struct {
	Path string `json:"path"`
}

// toolContent is one content item of a tool call. It has the fields of all types.
type toolContent struct {
	Type       string    `json:"type"`
	Content    rpc.Block `json:"content"`
	TerminalID string    `json:"terminalId"`
	FileDiff
}

// ToolCall is one tool call as known so far.
type ToolCall struct {
	words                   words.Words
	ID, Title, Kind, status string
	tool                    string // the name by which the agent calls it
	Path                    string // of the first location
	Locations               []string
	Files                   []File // those of locations that an open question covers
	Input                   ToolInput
	inputKnown              bool

	Notes     []string // of nanobot, which its question shows whole
	terminals []string // of the client, or of the agent
	output    toolOutput
	step      steps.Step // of the board
	began     time.Time  // when it was reported first

	Diffs   []FileDiff
	Content []rpc.Block // content other than diffs and terminals
	// Each is used once, since agents repeat content in every update.
	changesRecorded, contentSent bool
}

// Running reports whether the tool call has not ended.
func (t *ToolCall) Running() bool {
	return t.status != "completed" && t.status != "failed" && t.status != "cancelled"
}

// updateStep updates what the board shows of the tool call, except for its output. Files inside dir
// have names relative to it, except in commands.
func (t *ToolCall) updateStep(dir string) {
	if steps.Kind(t.Kind) == steps.Run {
		dir = ""
	}
	t.step.Kind, t.step.Title, t.step.State = steps.Kind(t.Kind), steps.EscapeTitle(t.nameIn(dir)), steps.Failed
	switch {
	case t.Running():
		t.step.State = steps.Running
	case t.status == "completed":
		t.step.State = steps.Done
	}
}

// Name returns a title for the tool call, which is never empty.
func (t *ToolCall) Name() string { return t.nameIn("") }

// nameIn is Name with paths relative to dir; "": as they are.
func (t *ToolCall) nameIn(dir string) string {
	for _, s := range []string{t.Title, t.Path, t.tool, t.Kind} {
		if s = terminal.OneLine(relativeNames(dir, s), steps.TitleLength); s != "" {
			return s
		}
	}
	return t.words.Text(words.UnnamedTool)
}

// apply merges an update into the tool call.
func (t *ToolCall) apply(f ToolFields, content json.RawMessage) {
	set := func(to *string, from rpc.Optional[string]) {
		if from.OK && from.V != "" {
			*to = from.V
		}
	}
	set(&t.Title, f.Title)
	set(&t.tool, f.Tool)
	set(&t.Kind, f.Kind)
	set(&t.status, f.Status)
	t.setLocations(f.Locations)
	if len(f.RawInput) > 0 {
		t.Input = newToolInput(f.RawInput) // replaced as a whole: a question must not mix two inputs
		t.inputKnown = string(f.RawInput) != "null"
	}
	t.output.apply(f.Meta.V, f.RawOutput)
	var list []rpc.Optional[toolContent]
	if len(content) > 0 && json.Unmarshal(content, &list) == nil && list != nil {
		t.setContent(list)
	}
}

// ApplyRequest merges a permission request into the tool call. Unlike in an update, a field that
// has nothing in it erases nothing: some agents ask without what they have reported before.
func (t *ToolCall) ApplyRequest(f ToolFields, content json.RawMessage) {
	if hasNothing(f.RawInput) {
		f.RawInput = nil
	}
	if hasNothing(content) {
		content = nil
	}
	f.Locations.OK = len(f.Locations.V) > 0
	if !t.inputKnown && f.RawInput == nil {
		f.RawInput = t.inputInContent()
	}
	// Some agents shorten the title in the request.
	if strings.HasPrefix(t.Title, strings.TrimRight(f.Title.V, ".… ")) {
		f.Title.OK = false
	}
	t.apply(f, content)
}

// hasNothing reports whether a JSON value is missing, null, or an empty string, or a list or an
// object of only these. The type of a content is nothing by itself.
func hasNothing(raw json.RawMessage) bool {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return !slices.ContainsFunc(list, func(r json.RawMessage) bool { return !hasNothing(r) })
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) == nil {
		delete(fields, "type")
		values := slices.Collect(maps.Values(fields))
		return !slices.ContainsFunc(values, func(r json.RawMessage) bool { return !hasNothing(r) })
	}
	return len(raw) == 0 || string(raw) == `""`
}

// inputInContent returns the tool's input that some agents report as the content of a call.
func (t *ToolCall) inputInContent() json.RawMessage {
	for _, b := range t.Content {
		raw := json.RawMessage(b.Text)
		if in := newToolInput(raw); b.Type == "text" && json.Valid(raw) && in != (ToolInput{Unknown: in.Unknown}) {
			return raw
		}
	}
	return nil
}

// setLocations stores the files of an update.
func (t *ToolCall) setLocations(list rpc.Optional[[]rpc.Optional[location]]) {
	var paths []string
	for _, l := range list.V {
		if l.V.Path != "" && len(paths) <= MaxLocations {
			paths = append(paths, l.V.Path)
		}
	}
	if len(paths) > 0 {
		t.Path = paths[0]
	}
	if list.OK {
		t.Locations = paths
	}
}

// setContent replaces the content. Diffs and terminals stay if the update has none, because some
// agents replace them by text at the end.
func (t *ToolCall) setContent(list []rpc.Optional[toolContent]) {
	var diffs []FileDiff
	var terminals []string
	t.Content = nil
	for _, c := range list {
		switch {
		case !c.OK:
		case c.V.Type == "diff":
			diffs = append(diffs, c.V.FileDiff)
		case c.V.Type == "terminal":
			terminals = append(terminals, c.V.TerminalID)
		case c.V.Type == "content":
			t.Content = append(t.Content, c.V.Content)
		}
	}
	if diffs != nil {
		t.Diffs = diffs
	}
	if terminals != nil {
		t.terminals = terminals
	}
}

// applyToolCall handles tool_call and tool_call_update alike, because some agents mix them up.
func (v *View) applyToolCall(c updateFields) {
	v.board.setThinking(false)
	t, found := v.board.tools[c.ID.V]
	if !found {
		v.settleText()
		v.messages.sendFiles()
		t = v.board.addTool(c.ID.V)
	}
	t.apply(c.ToolFields, c.Content)
	t.updateStep(v.out.dir)
	v.due.board.Schedule(boardInterval)
	switch {
	case t.Running():
		if len(t.terminals) > 0 && v.board.table != nil {
			v.due.terminals.Schedule(terminalInterval)
		}
	case t.status == "completed":
		v.rejected = false
		v.board.changes.record(t)
		v.messages.sendContent(t)
		fallthrough
	default:
		v.board.updateTail(t)
		t.Diffs, t.Content, t.Input = nil, nil, ToolInput{}
	}
}

// sendContent sends the result of a tool call. Files that were only read are not sent: they are
// mostly the person's own.
func (m *messages) sendContent(t *ToolCall) {
	if t.Kind == "read" || t.Kind == "search" || t.contentSent {
		return
	}
	for _, b := range t.Content {
		if b.Type != "text" && b.Type != "resource" || b.Type == "resource" && b.Resource != nil && b.Resource.Blob != nil {
			t.contentSent = true
			m.showBlock(b)
		}
	}
}
