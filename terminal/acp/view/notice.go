package view

import (
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/steps"
)

// noticeMark begins the line of a notice, warningMark that of a warning or an error.
const noticeMark, warningMark = "ℹ️ ", "⚠ "

// addNotice shows a notice of the agent, which is no part of its answer: a line of the board, and
// of the turn's summary.
func (v *View) addNotice(severity, text string) {
	mark := noticeMark
	if severity == "warning" || severity == "error" {
		mark = warningMark
	}
	if text = terminal.OneLine(text, maxRemark); text != "" {
		v.board.forget(v.board.AddNotice(mark, steps.EscapeTitle(text)))
		v.due.board.Schedule(boardInterval)
	}
}

// compactionPrefix distinguishes the IDs of compactions from those of tool calls.
const compactionPrefix = "compaction "

// applyCompaction shows a compaction of the agent's context as a step. The summary is for the
// agent.
func (v *View) applyCompaction(c updateFields) {
	v.setThinking(false)
	id := compactionPrefix + c.Compaction.V
	t := v.board.tools[id]
	if t == nil {
		t = v.board.addTool(id)
		t.Kind, t.Title = "compaction", v.board.Words.Text(words.StepCompaction)
	}
	t.apply(ToolFields{Status: c.Status}, nil)
	t.updateStep(v.out.dir)
	if c.Error.OK {
		t.step.Output = steps.LastLines(c.Error.V)
	}
	v.due.board.Schedule(boardInterval)
}
