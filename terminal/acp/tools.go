package acp

import (
	"encoding/json"
	"slices"

	"nanobot/terminal/process"
)

const (
	// maxTools is how many tool calls of a turn are remembered; of older ones only their number.
	maxTools = 256
	// maxInput is how much of each part of a tool's input is remembered for a question; metaTail is
	// how much is kept of what a terminal of the agent's own prints.
	maxInput, metaTail = 16 << 10, 8 << 10
)

// toolFields are what a tool call or an update of one may say.
type toolFields struct {
	ID        maybe[string]            `json:"toolCallId"`
	Title     maybe[string]            `json:"title"`
	Kind      maybe[string]            `json:"kind"`
	Status    maybe[string]            `json:"status"`
	Locations maybe[[]maybe[location]] `json:"locations"`
	RawInput  json.RawMessage          `json:"rawInput"`
	Meta      maybe[toolMeta]          `json:"_meta"`
}

type location struct {
	Path string `json:"path"`
}

// toolMeta is what agents with terminals of their own say about them.
type toolMeta struct {
	Output maybe[struct {
		Data string `json:"data"`
	}] `json:"terminal_output"`
}

// toolContent is one piece of what a tool call has made. It has the fields of all types.
type toolContent struct {
	Type       string `json:"type"`
	Content    block  `json:"content"`
	TerminalID string `json:"terminalId"`
	fileDiff
}

// tool is one tool call, as far as it is known.
type tool struct {
	id, title, kind, status string
	path                    string // of the first file that it works on
	locations               []string
	named                   []place // of locations, what a permission covers that is being asked for
	input                   toolInput

	terminals []string
	printed   *process.Bounded // by a terminal of the agent's own
	tail      []string         // the last lines of its terminal

	diffs []fileDiff
	made  []block // other content
	// Each is shown once: agents repeat content in every update.
	shownDiffs, shownMade bool
}

func (t *tool) running() bool {
	return t.status != "completed" && t.status != "failed" && t.status != "cancelled"
}

// apply takes over what an update says; what it does not say stays.
func (t *tool) apply(f toolFields, content json.RawMessage) {
	set := func(to *string, from maybe[string]) {
		if from.ok && from.v != "" {
			*to = from.v
		}
	}
	set(&t.title, f.Title)
	set(&t.kind, f.Kind)
	set(&t.status, f.Status)
	t.locate(f.Locations)
	if len(f.RawInput) > 0 {
		t.input = newToolInput(f.RawInput) // nothing of an earlier one stays: a question would show what is not asked
	}
	if data := f.Meta.v.Output.v.Data; data != "" {
		if t.printed == nil {
			t.printed = process.NewBounded(0, metaTail)
		}
		_, _ = t.printed.Write([]byte(data))
	}
	var list []maybe[toolContent]
	if len(content) > 0 && json.Unmarshal(content, &list) == nil && list != nil {
		t.replace(list)
	}
}

// locate takes over the files that an update names.
func (t *tool) locate(list maybe[[]maybe[location]]) {
	var paths []string
	for _, l := range list.v {
		if l.v.Path != "" && len(paths) <= maxLocations {
			paths = append(paths, l.v.Path)
		}
	}
	if len(paths) > 0 {
		t.path = paths[0]
	}
	if list.ok {
		t.locations = paths
	}
}

// replace takes over new content. Of diffs and terminals those that were there stay if there are no
// new ones: at the end some agents send words in their place, and they are still what was done.
func (t *tool) replace(list []maybe[toolContent]) {
	var diffs []fileDiff
	var terminals []string
	t.made = nil
	for _, c := range list {
		switch {
		case !c.ok:
		case c.v.Type == "diff":
			diffs = append(diffs, c.v.fileDiff)
		case c.v.Type == "terminal":
			terminals = append(terminals, c.v.TerminalID)
		case c.v.Type == "content":
			t.made = append(t.made, c.v.Content)
		}
	}
	if diffs != nil {
		t.diffs = diffs
	}
	if terminals != nil {
		t.terminals = terminals
	}
}

// toolCall shows what an update says of a tool call. The first may be an update, and a later one a
// call: agents do both.
func (v *view) toolCall(c change) {
	v.think(false)
	t, found := v.board.byID[c.ID.v]
	if !found {
		v.settleText()
		t = v.board.add(c.ID.v)
	}
	t.apply(c.toolFields, c.Content)
	v.soon(&v.boardAt, boardEvery)
	switch {
	case t.running():
		if len(t.terminals) > 0 && v.table != nil {
			v.soon(&v.glanceAt, glanceEvery)
		}
	case t.status == "completed":
		v.showMade(t)
		fallthrough
	default:
		v.look(t)
		t.diffs, t.made = nil, nil
	}
}

// settleText ends what is being said, since what follows is about something else.
func (v *view) settleText() {
	v.sendText()
	v.sendFiles()
}

// showMade sends what a tool call has made. What was only looked at by reading is not sent: most of
// all it would be the person's own files.
func (v *view) showMade(t *tool) {
	if len(t.diffs) > 0 && !t.shownDiffs {
		t.shownDiffs = true
		v.showDiffs(t.diffs)
	}
	if t.kind == "read" || t.kind == "search" || t.shownMade {
		return
	}
	for _, b := range t.made {
		if b.Type != "text" && b.Type != "resource" || b.Type == "resource" && b.Resource != nil && b.Resource.Blob != nil {
			t.shownMade = true
			v.showBlock(b)
		}
	}
}

// board is what the progress of a turn shows.
type board struct {
	plan     []planEntry
	tools    []*tool
	byID     map[string]*tool
	earlier  int // tool calls that are no longer remembered
	thinking bool
	shown    string
}

func newBoard() board { return board{byID: map[string]*tool{}} }

func (b *board) add(id string) *tool {
	t := &tool{id: id, status: "pending"}
	if len(b.tools) == maxTools {
		old := max(0, slices.IndexFunc(b.tools, func(t *tool) bool { return !t.running() }))
		delete(b.byID, b.tools[old].id)
		b.tools = slices.Delete(b.tools, old, old+1)
		b.earlier++
	}
	b.tools = append(b.tools, t)
	b.byID[id] = t
	return t
}
