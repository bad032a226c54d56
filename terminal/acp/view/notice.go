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
func (b *board) addNotice(severity, text string) {
	mark := noticeMark
	if severity == "warning" || severity == "error" {
		mark = warningMark
	}
	if text = terminal.OneLine(text, maxRemark); text != "" {
		b.forget(b.AddNotice(mark, steps.EscapeTitle(text)))
		b.due.board.Schedule(boardInterval)
	}
}

// compactionPrefix distinguishes the IDs of compactions from those of tool calls.
const compactionPrefix = "compaction "

// applyCompaction shows a compaction of the agent's context as a step. The summary is for the
// agent.
func (b *board) applyCompaction(c updateFields) {
	b.setThinking(false)
	id := compactionPrefix + c.Compaction.V
	t := b.tools[id]
	if t == nil {
		t = b.addTool(id)
		t.Kind, t.Title = "compaction", b.Words.Text(words.StepCompaction)
	}
	t.apply(ToolFields{Status: c.Status}, nil)
	t.updateStep(b.changes.dir)
	if c.Error.OK {
		t.step.Output = steps.LastLines(c.Error.V)
	}
	b.due.board.Schedule(boardInterval)
}
