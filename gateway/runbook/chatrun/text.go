package chatrun

import (
	"fmt"
	"slices"
	"strings"

	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

const (
	// maxLabel and maxBody limit the characters of a step that are shown in a chat.
	maxLabel, maxBody = 80, 1500
	// maxChecklist limits the steps of a checklist.
	maxChecklist = 12
)

// runTitle returns the name of a run's runbook.
func runTitle(r runbook.Run) string { return terminal.OneLine(r.Runbook().Label, maxLabel) }

// checklist lists the steps and their states. For a long runbook it lists the steps around the
// current one.
func checklist(r runbook.Run) string {
	steps := r.Runbook().Steps
	first := max(0, min(r.Step-maxChecklist/2, len(steps)-maxChecklist))
	last := min(first+maxChecklist, len(steps))
	lines := []string{fmt.Sprintf("**%s**", terminal.Visible(runTitle(r)))}
	if first > 0 {
		lines = append(lines, fmt.Sprintf("… %d before", first))
	}
	marks := stepMarks(r)
	for _, s := range steps[first:last] {
		lines = append(lines, fmt.Sprintf("%s %d. %s", marks[s.Index], s.Index, terminal.OneLine(s.Label, maxLabel)))
	}
	if last < len(steps) {
		lines = append(lines, fmt.Sprintf("… %d more", len(steps)-last))
	}
	return strings.Join(lines, "\n")
}

// stepMarks returns the mark of each step.
func stepMarks(r runbook.Run) map[int]string {
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
			continue // verification reports it
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

// questionText returns the question about the current step.
func questionText(r runbook.Run) string {
	step, _ := r.CurrentStep()
	var parts []string
	if !IsExecuted(r) {
		parts = append(parts, agentNotice(r))
	}
	parts = append(parts, checklist(r))
	if step.Body != "" {
		parts = append(parts, terminal.Shorten(step.Body, maxBody))
	}
	if needsApproval(step) {
		parts = append(parts, terminal.Shorten(step.Challenge.Prompt, maxBody))
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

// agentNotice tells people that an agent executes the run, and what only the agent claims.
func agentNotice(r runbook.Run) string {
	text := "🤖 The agent executes this run."
	if r.Source == runbook.MintedSource(r.Runbook().Label) {
		text += " It was written by an agent."
	}
	if hasAgentShellProof(r) {
		text += " The agent itself reported how its commands ended."
	}
	return text
}

// hasAgentShellProof reports whether the agent, and not the gateway, has run a command.
func hasAgentShellProof(r runbook.Run) bool {
	return slices.ContainsFunc(r.Records, func(e runbook.Entry) bool {
		record, err := e.Parse()
		return err == nil && record.Type == runbook.Shell && record.By == runbook.ByAgent
	})
}

// shellFailure describes the failure of a command.
func shellFailure(command string, p runbook.ShellProof) string {
	text := fmt.Sprintf("The command %s ended with exit status %d.", terminal.CodeSpan(terminal.OneLine(command, 200)), p.ExitCode)
	output := strings.TrimRight(p.Stdout, "\n")
	if p.Stderr != "" {
		output = strings.TrimSpace(output + "\n" + p.Stderr)
	}
	if output == "" {
		return text + " It printed nothing."
	}
	return text + "\n\n" + terminal.CodeBlock("", lastCharacters(output))
}

// lastCharacters returns the end of a command's output.
func lastCharacters(output string) string {
	runes := []rune(terminal.Clean(output))
	if len(runes) <= maxBody {
		return string(runes)
	}
	return "…" + string(runes[len(runes)-maxBody:])
}
