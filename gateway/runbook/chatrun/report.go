package chatrun

import (
	"context"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"nanobot/gateway/runbook"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// report tells the chat once how a run has ended, with its records as a document.
func (e *execution) report(ctx context.Context) error {
	if driverOf(e.run).Reported || !IsExecuted(e.run) {
		return nil
	}
	export, err := e.o.Runs.Export(ctx, e.run)
	if err != nil {
		return err
	}
	var temp terminal.TempFiles
	defer temp.Remove()
	file, err := temp.Add("run-"+export.Run+".json", []byte(export.Encode()+"\n"))
	if err != nil {
		return fmt.Errorf("write records: %w", err)
	}
	frame := terminal.Frame{
		Kind: terminal.Message, Text: reportText(e.runWords(e.run), e.run), Sequence: reportSequence,
		Checked: []terminal.File{file},
	}
	if err := e.turn.Emit(frame); err != nil {
		return err
	}
	return e.applyDurably(ctx, changeDriver(func(_ runbook.Run, d *driver) error {
		d.Reported, d.Reporter = true, e.attemptID()
		return nil
	}))
}

// attemptID identifies the attempt at the message of the turn.
func (e *execution) attemptID() string {
	return fmt.Sprintf("%d.%d", e.turn.Inbound.ID, e.turn.Inbound.Attempt)
}

// sendEnded tells a person who repeats a message of a run that the run has ended since. Steps that
// people approved must not start again by accident.
func (e *execution) sendEnded() error {
	if e.turn.Inbound.Attempt == 1 || driverOf(e.run).Reporter == e.attemptID() {
		return nil
	}
	name := strings.TrimPrefix(string(e.run.Source), string(runbook.WorkspaceSource("")))
	return e.sendNote(e.turn.Words().Text(words.RunEndedAlready, terminal.Visible(terminal.OneLine(name, maxLabel))))
}

// reportText describes how a run has ended.
func reportText(w words.Words, r runbook.Run) string {
	lines := []string{checklist(w, r, proofNotes(w, r)), ""}
	switch r.Status {
	case runbook.Complete:
		lines = append(lines, w.Text(words.RunComplete))
	case runbook.Declined:
		lines = append(lines, w.Text(words.RunDeclined, r.Step, terminal.Visible(r.EndedBy)))
	default:
		reason := terminal.OneLine(r.Reason, maxBody)
		if reason == runbook.Aborted {
			reason = w.Text(words.RunAborted)
		}
		lines = append(lines, w.Text(words.RunEnded, r.Step, terminal.Visible(r.EndedBy), reason))
	}
	if agents := runbook.CountWords(r.Records)[runbook.WordOfAgent]; agents > 0 {
		lines = append(lines, w.Text(words.RunAgentsWord, agents, len(r.Records)))
	}
	return strings.Join(append(lines, w.Text(words.RunHash, terminal.CodeSpan(r.ID), terminal.CodeSpan(r.LastHash()))),
		"\n")
}

// proofNotes returns whose word the proof of each step is.
func proofNotes(w words.Words, r runbook.Run) map[int]string {
	notes := map[int]string{}
	for _, e := range r.Records {
		record, err := e.Parse()
		if err != nil {
			continue // verification reports it
		}
		switch record.Word() {
		case runbook.WordOfAgent:
			notes[record.Step] = " · " + w.Text(words.RunWordOfAgent)
		case runbook.WordOfGateway:
			notes[record.Step] = " · " + w.Text(words.RunWordOfGateway)
		default:
			notes[record.Step] = " · " + terminal.Visible(record.By)
		}
	}
	return notes
}

func runFields(r runbook.Run) []zap.Field {
	return []zap.Field{zap.String("runbook_run", r.ID), zap.Int("step", r.Step), zap.Int("failures", r.Issued.Failures)}
}
