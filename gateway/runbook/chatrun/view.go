package chatrun

import (
	"fmt"
	"slices"
	"strings"

	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

const (
	// longestLabel and longestBody bound what is shown of a step in a chat, in characters.
	longestLabel, longestBody = 80, 1500
	// mostSteps is how many steps a checklist shows.
	mostSteps = 12
)

// title names a run's runbook.
func title(r runbook.Run) string { return terminal.OneLine(r.Runbook().Label, longestLabel) }

// checklist shows which steps are done. Of a long runbook it shows the steps around the present
// one.
func checklist(r runbook.Run) string {
	steps := r.Runbook().Steps
	first := max(0, min(r.Step-mostSteps/2, len(steps)-mostSteps))
	last := min(first+mostSteps, len(steps))
	lines := []string{fmt.Sprintf("**%s**", terminal.Visible(title(r)))}
	if first > 0 {
		lines = append(lines, fmt.Sprintf("… %d before", first))
	}
	marks := marksOf(r)
	for _, s := range steps[first:last] {
		lines = append(lines, fmt.Sprintf("%s %d. %s", marks[s.Index], s.Index, terminal.OneLine(s.Label, longestLabel)))
	}
	if last < len(steps) {
		lines = append(lines, fmt.Sprintf("… %d more", len(steps)-last))
	}
	return strings.Join(lines, "\n")
}

// marksOf returns the mark of each step.
func marksOf(r runbook.Run) map[int]string {
	marks := map[int]string{}
	_, last := r.CurrentStep()
	for _, s := range r.Runbook().Steps {
		switch {
		case last && s.Index == r.Step && r.Status == runbook.Complete && !driverOf(r).Finished:
			marks[s.Index] = "▶️"
		case s.Index < r.Step || r.Status == runbook.Complete:
			marks[s.Index] = "✅"
		case s.Index > r.Step:
			marks[s.Index] = "▫️"
		case r.Status == runbook.Waiting:
			marks[s.Index] = "▶️"
		default:
			marks[s.Index] = "⛔"
		}
	}
	for _, e := range r.Records {
		record, err := e.Parse()
		if err != nil {
			continue // verifying finds it
		}
		switch record.Status {
		case runbook.SkippedProof:
			marks[record.Step] = "⏭️"
		case runbook.FailedProof:
			marks[record.Step] = "⚠️"
		}
	}
	return marks
}

// questionText asks what is to be decided at the present step.
func questionText(r runbook.Run) string {
	step, _ := r.CurrentStep()
	var parts []string
	if !IsExecuted(r) {
		parts = append(parts, agentRuns(r))
	}
	parts = append(parts, checklist(r))
	if step.Body != "" {
		parts = append(parts, terminal.Shorten(step.Body, longestBody))
	}
	if isGate(step) {
		parts = append(parts, terminal.Shorten(step.Challenge.Prompt, longestBody))
		if step.Challenge.Approvals > 1 {
			parts = append(parts, fmt.Sprintf("%d people have to approve.", step.Challenge.Approvals))
		}
		return strings.Join(parts, "\n\n")
	}
	parts = append(parts, fmt.Sprintf("Step %d has failed %d times.", step.Index, r.Issued.Failures))
	if failure := driverOf(r).Failure; failure != "" {
		parts = append(parts, failure)
	}
	if step.Challenge != nil && step.Challenge.Type == runbook.Comment {
		parts = append(parts, "You can write the comment yourself: reply to this message with it, or send /run comment and the text.")
	}
	return strings.Join(append(parts, "To skip the step, send /run skip and the reason."), "\n\n")
}

// agentRuns tells people that it is an agent that executes the run, and what it may have made up.
func agentRuns(r runbook.Run) string {
	text := "🤖 The agent executes this run."
	if r.Source == runbook.MintedSource(r.Runbook().Label) {
		text += " It was written by an agent."
	}
	if hasReported(r) {
		text += " The agent has reported itself how its commands ended."
	}
	return text
}

// hasReported reports whether a command was executed by the agent, and not by nanobot.
func hasReported(r runbook.Run) bool {
	return slices.ContainsFunc(r.Records, func(e runbook.Entry) bool {
		record, err := e.Parse()
		return err == nil && record.Type == runbook.Shell && record.By == runbook.ByAgent
	})
}

// shellFailure tells what was wrong with a command.
func shellFailure(command string, p runbook.ShellProof) string {
	text := fmt.Sprintf("The command %s ended with exit status %d.", terminal.CodeSpan(terminal.OneLine(command, 200)), p.ExitCode)
	output := strings.TrimRight(p.Stdout, "\n")
	if p.Stderr != "" {
		output = strings.TrimSpace(output + "\n" + p.Stderr)
	}
	if output == "" {
		return text + " It printed nothing."
	}
	return text + "\n\n" + terminal.CodeBlock("", lastLines(output))
}

// lastLines are the last characters of a command's output.
func lastLines(output string) string {
	runes := []rune(terminal.Clean(output))
	if len(runes) <= longestBody {
		return string(runes)
	}
	return "…" + string(runes[len(runes)-longestBody:])
}
