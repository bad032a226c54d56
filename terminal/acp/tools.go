package acp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal/acp/rpc"
)

// maxLines limits the tool calls and remarks of a turn that are stored. Older calls are only
// counted.
const maxLines = 256

// toolFields are the fields of a tool call and of its updates.
type toolFields struct {
	ID        rpc.Optional[string]                   `json:"toolCallId"`
	Title     rpc.Optional[string]                   `json:"title"`
	Kind      rpc.Optional[string]                   `json:"kind"`
	Status    rpc.Optional[string]                   `json:"status"`
	Locations rpc.Optional[[]rpc.Optional[location]] `json:"locations"`
	RawInput  json.RawMessage                        `json:"rawInput"`
	RawOutput json.RawMessage                        `json:"rawOutput"`
	Meta      rpc.Optional[toolMeta]                 `json:"_meta"`
}

type location struct {
	Path string `json:"path"`
}

// toolContent is one content item of a tool call. It has the fields of all types.
type toolContent struct {
	Type       string    `json:"type"`
	Content    rpc.Block `json:"content"`
	TerminalID string    `json:"terminalId"`
	fileDiff
}

// toolCall is one tool call as known so far.
type toolCall struct {
	words                   words.Words
	id, title, kind, status string
	path                    string // of the first location
	locations               []string
	permissionFiles         []resolvedPath // those of locations that an open question covers
	input                   toolInput
	inputKnown              bool

	notes     []string // of nanobot, which its question shows whole
	terminals []string // of the client, or of the agent
	output    toolOutput

	diffs   []fileDiff
	content []rpc.Block // content other than diffs and terminals
	// Each is used once, since agents repeat content in every update.
	changesRecorded, contentSent bool
}

func (t *toolCall) running() bool {
	return t.status != "completed" && t.status != "failed" && t.status != "cancelled"
}

// apply merges an update into the tool call.
func (t *toolCall) apply(f toolFields, content json.RawMessage) {
	set := func(to *string, from rpc.Optional[string]) {
		if from.OK && from.V != "" {
			*to = from.V
		}
	}
	set(&t.title, f.Title)
	set(&t.kind, f.Kind)
	set(&t.status, f.Status)
	t.setLocations(f.Locations)
	if len(f.RawInput) > 0 {
		t.input = newToolInput(f.RawInput) // replaced as a whole: a question must not mix two inputs
		t.inputKnown = string(f.RawInput) != "null"
	}
	t.output.apply(f.Meta.V, f.RawOutput)
	var list []rpc.Optional[toolContent]
	if len(content) > 0 && json.Unmarshal(content, &list) == nil && list != nil {
		t.setContent(list)
	}
}

// applyRequest merges a permission request into the tool call. Unlike in an update, a field that
// has nothing in it erases nothing: some agents ask without what they have reported before.
func (t *toolCall) applyRequest(f toolFields, content json.RawMessage) {
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
	if strings.HasPrefix(t.title, strings.TrimRight(f.Title.V, ".… ")) {
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
func (t *toolCall) inputInContent() json.RawMessage {
	for _, b := range t.content {
		raw := json.RawMessage(b.Text)
		if in := newToolInput(raw); b.Type == "text" && json.Valid(raw) && in != (toolInput{unknown: in.unknown}) {
			return raw
		}
	}
	return nil
}

// setLocations stores the files of an update.
func (t *toolCall) setLocations(list rpc.Optional[[]rpc.Optional[location]]) {
	var paths []string
	for _, l := range list.V {
		if l.V.Path != "" && len(paths) <= maxLocations {
			paths = append(paths, l.V.Path)
		}
	}
	if len(paths) > 0 {
		t.path = paths[0]
	}
	if list.OK {
		t.locations = paths
	}
}

// setContent replaces the content. Diffs and terminals stay if the update has none, because some
// agents replace them by text at the end.
func (t *toolCall) setContent(list []rpc.Optional[toolContent]) {
	var diffs []fileDiff
	var terminals []string
	t.content = nil
	for _, c := range list {
		switch {
		case !c.OK:
		case c.V.Type == "diff":
			diffs = append(diffs, c.V.fileDiff)
		case c.V.Type == "terminal":
			terminals = append(terminals, c.V.TerminalID)
		case c.V.Type == "content":
			t.content = append(t.content, c.V.Content)
		}
	}
	if diffs != nil {
		t.diffs = diffs
	}
	if terminals != nil {
		t.terminals = terminals
	}
}

// applyToolCall handles tool_call and tool_call_update alike, because some agents mix them up.
func (v *view) applyToolCall(c updateFields) {
	v.setThinking(false)
	t, found := v.board.byID[c.ID.V]
	if !found {
		v.settleText()
		v.messages.sendFiles()
		t = v.board.addTool(c.ID.V)
	}
	t.apply(c.toolFields, c.Content)
	v.due.schedule(showBoard, boardInterval)
	switch {
	case t.running():
		if len(t.terminals) > 0 && v.board.table != nil {
			v.due.schedule(showTerminals, terminalInterval)
		}
	case t.status == "completed":
		v.board.changes.record(t)
		v.sendContent(t)
		fallthrough
	default:
		v.board.updateTail(t)
		t.diffs, t.content, t.input = nil, nil, toolInput{}
	}
}

// sendContent sends the result of a tool call. Files that were only read are not sent: they are
// mostly the person's own.
func (v *view) sendContent(t *toolCall) {
	if t.kind == "read" || t.kind == "search" || t.contentSent {
		return
	}
	for _, b := range t.content {
		if b.Type != "text" && b.Type != "resource" || b.Type == "resource" && b.Resource != nil && b.Resource.Blob != nil {
			t.contentSent = true
			v.messages.showBlock(b)
		}
	}
}
