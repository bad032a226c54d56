package acp

import (
	"fmt"

	"nanobot/terminal"
)

// audit emits a frame for the audit log.
func (v *view) audit(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.out.emit(terminal.Frame{Kind: terminal.Log, Level: "info", Text: fmt.Sprintf(format, args...), Audit: true})
	}
}

// toolByID returns a copy of a tool call.
func (v *view) toolByID(id string) toolCall {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t := v.board.byID[id]; t != nil {
		copied := *t
		copied.output.own = nil
		return copied
	}
	return toolCall{id: id, words: v.board.words}
}

// sendBeforeQuestion sends a plan, unless it is "", and documents that the next question is about.
func (v *view) sendBeforeQuestion(plan string, documents []document) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil
	}
	v.out.emitText(plan)
	for _, d := range documents {
		// Without emit: a document that is refused does not end the turn.
		if err := terminal.SendDocument(v.board.words, d.name, d.text, v.out.turn.Emit); err != nil {
			return err
		}
	}
	return v.out.err
}

// reportRefusal tells the person why a call was refused, but only once if *once is set.
func (v *view) reportRefusal(once *bool, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed || once != nil && *once {
		return
	}
	if once != nil {
		*once = true
	}
	v.messages.flush()
	v.out.emitText(text)
}
