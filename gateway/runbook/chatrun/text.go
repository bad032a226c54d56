package chatrun

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nanobot/gateway/runbook"
	"nanobot/internal/words"
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

// checklist lists the steps and their states, each followed by its note. For a long runbook it
// lists the steps around the current one.
func checklist(w words.Words, r runbook.Run, notes map[int]string) string {
	steps := r.Runbook().Steps
	first := max(0, min(r.Step-maxChecklist/2, len(steps)-maxChecklist))
	last := min(first+maxChecklist, len(steps))
	lines := []string{fmt.Sprintf("**%s**", terminal.Visible(runTitle(r)))}
	if first > 0 {
		lines = append(lines, w.Text(words.RunStepsBefore, first))
	}
	marks := stepMarks(r)
	for _, s := range steps[first:last] {
		lines = append(lines, fmt.Sprintf("%s %d. %s%s", marks[s.Index], s.Index, terminal.OneLine(s.Label, maxLabel),
			notes[s.Index]))
	}
	if last < len(steps) {
		lines = append(lines, w.Text(words.RunStepsAfter, len(steps)-last))
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
func questionText(w words.Words, r runbook.Run) string {
	step, _ := r.CurrentStep()
	var parts []string
	if !IsExecuted(r) {
		parts = append(parts, agentNotice(w, r))
	}
	parts = append(parts, checklist(w, r, nil))
	if step.Body != "" {
		parts = append(parts, terminal.Shorten(step.Body, maxBody))
	}
	if needsApproval(step) {
		parts = append(parts, terminal.Shorten(step.Challenge.Prompt, maxBody))
		if step.Challenge.Approvals > 1 {
			parts = append(parts, w.Text(words.RunPeopleNeeded, step.Challenge.Approvals))
		}
		return strings.Join(parts, "\n\n")
	}
	parts = append(parts, w.Text(words.RunStepFailed, step.Index, r.Issued.Failures))
	d := driverOf(r)
	if failure := cmp.Or(d.FailureShown, d.Failure); failure != "" {
		parts = append(parts, failure)
	}
	if step.Challenge != nil && step.Challenge.Type == runbook.Comment {
		parts = append(parts, w.Text(words.RunWriteComment))
	}
	return strings.Join(append(parts, w.Text(words.RunHowToSkip)), "\n\n")
}

// agentNotice tells people that an agent executes the run, and what only the agent claims.
func agentNotice(w words.Words, r runbook.Run) string {
	text := w.Text(words.RunByAgent)
	if !r.Source.IsWorkspace() {
		text += " " + w.Text(words.RunMinted)
	}
	if hasAgentShellProof(r) {
		text += " " + w.Text(words.RunAgentReported)
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
func shellFailure(w words.Words, command string, p runbook.ShellProof) string {
	text := w.Text(words.RunCommandFailed, terminal.CodeSpan(terminal.OneLine(command, 200)), p.ExitCode)
	output := strings.TrimRight(p.Stdout, "\n")
	if p.Stderr != "" {
		output = strings.TrimSpace(output + "\n" + p.Stderr)
	}
	if output == "" {
		return text + " " + w.Text(words.RunNoOutput)
	}
	return text + "\n\n" + terminal.CodeBlock("", lastCharacters(output))
}

// formatNumber writes a number of characters, which a runbook may give with decimals.
func formatNumber(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

// lastCharacters returns the end of a command's output.
func lastCharacters(output string) string {
	runes := []rune(terminal.Clean(output))
	if len(runes) <= maxBody {
		return string(runes)
	}
	return "…" + string(runes[len(runes)-maxBody:])
}
