package chatrun

import (
	"encoding/json"
	"fmt"
	"strings"

	"nanobot/gateway/runbook"
)

// promptText returns the prompt for the current step of a run. shown has its challenge.
func promptText(r runbook.Run, shown runbook.Answer) string {
	step, _ := r.CurrentStep()
	book := r.Runbook()
	parts := []string{fmt.Sprintf("Runbook %q, step %d of %d: %s", book.Label, step.Index, len(book.Steps), step.Label)}
	if step.Index == 1 && book.Introduction != "" {
		parts = append(parts, book.Introduction)
	}
	if step.Body != "" {
		parts = append(parts, step.Body)
	}
	if how := proofInstructions(step, r, shown); how != "" {
		parts = append(parts, how)
	}
	if failure := driverOf(r).Failure; failure != "" {
		parts = append(parts, "The last attempt failed. "+failure)
	}
	return strings.Join(parts, "\n\n")
}

// proofInstructions tells the agent how the step will be proved.
func proofInstructions(step runbook.Step, r runbook.Run, shown runbook.Answer) string {
	if step.Challenge == nil {
		return ""
	}
	switch c := step.Challenge; c.Type {
	case runbook.Shell:
		return "When you have finished, this command is run to prove the step. It must succeed:\n\n" + c.Command
	case runbook.Comment:
		return fmt.Sprintf("Your answer is recorded as the proof of this step. It must have at least %g characters.",
			c.MinLength)
	case runbook.MCP:
		solution := map[string]any{
			"type": runbook.MCP, "nonce": shown.Challenge.Nonce, "proof_hash": shown.Challenge.ProofHash,
			runbook.MCP: map[string]any{"tool_name": c.Tool, "arguments": "…", "result": "…", "success": true},
		}
		text, _ := json.Marshal(solution) // strings and a boolean cannot fail
		return fmt.Sprintf("Call the tool %s. Then prove that with the tool kairos_next: uri %s, run %s, and this solution "+
			"with the arguments and the result:\n\n%s",
			c.Tool, r.URI(step.Index), r.ID, text)
	}
	return ""
}
