package runbook

import (
	"fmt"
	"unicode/utf8"
)

const commandFailed = "Proof of work failed. Fix and retry."

// checkNonce checks that a solution belongs to the current challenge.
func (r Run) checkNonce(solution object) *refusal {
	hash := solution.text("proof_hash")
	switch {
	case solution == nil:
		return &refusal{MissingField, "Solution is required for steps 2+. Use kairos_begin for step 1.", retryWithSolution}
	case solution.text("nonce") != r.Issued.Nonce:
		why := nonceMismatch()
		return &why
	case hash == "":
		return &refusal{code: MissingField, message: "Include proof_hash in solution (use challenge.proof_hash for step 1)."}
	case hash != r.LastHash():
		return &refusal{
			code:    ProofHashMismatch,
			message: "proof_hash mismatch. Use proof_hash from the previous response or challenge.",
		}
	}
	return nil
}

func nonceMismatch() refusal {
	return refusal{code: NonceMismatch, message: "Nonce mismatch. Use the nonce from the current step challenge."}
}

// checkSolution checks that a solution solves the challenge.
func (d *Definition) checkSolution(solution object) *refusal {
	got := Shell
	if raw, ok := solution["type"]; ok {
		if got = solution.text("type"); got == "" {
			got = string(raw)
		}
	}
	if got != d.Type {
		return &refusal{code: TypeMismatch, message: fmt.Sprintf("Expected proof type: %s, got: %s", d.Type, got)}
	}
	field := readObject(solution[d.Type])
	switch d.Type {
	case Shell:
		return checkShell(field)
	case MCP:
		return d.checkMCP(field)
	case UserInput:
		if field.text("confirmation") == "" {
			return &refusal{code: MissingField, message: "User input proof requires user_input.confirmation"}
		}
	default:
		return d.checkComment(field)
	}
	return nil
}

func checkShell(field object) *refusal {
	if field == nil {
		return &refusal{code: MissingField, message: "Shell proof requires shell field with exit_code"}
	}
	if code, ok := field.number("exit_code"); !ok || code != 0 {
		return &refusal{code: CommandFailed, message: commandFailed}
	}
	return nil
}

func (d *Definition) checkMCP(field object) *refusal {
	if field == nil {
		return &refusal{code: MissingField, message: "MCP proof requires mcp field"}
	}
	if tool := field.text("tool_name"); tool != d.Tool {
		return &refusal{code: MCPToolMismatch, message: fmt.Sprintf("Expected MCP tool: %s, got: %s", d.Tool, tool)}
	}
	if !field.isLiteral("success", "true") {
		return &refusal{code: CommandFailed, message: commandFailed}
	}
	return nil
}

func (d *Definition) checkComment(field object) *refusal {
	text := field.text("text")
	if text == "" {
		return &refusal{code: MissingField, message: "Comment proof requires comment.text"}
	}
	if float64(utf8.RuneCountInString(text)) < d.MinLength {
		return &refusal{
			code:    CommentTooShort,
			message: fmt.Sprintf("Comment must be at least %s characters", formatNumber(d.MinLength)),
		}
	}
	return nil
}
