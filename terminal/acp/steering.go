package acp

import (
	"encoding/json"
	"errors"
	"slices"

	"nanobot/terminal/acp/rpc"
)

// steerMethod adds a message to the prompt that the agent works on. It is an extension of Codex and
// others: https://github.com/MoonshotAI/kimi-code/issues/2370
const steerMethod = "_session/steering"

// handleSteered handles the response to a message that was added to the running prompt. An agent
// that has just ended that prompt does not take the message, which then waits for its own turn.
func (p *prompts) handleSteered(k *prompt, result json.RawMessage, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var got struct {
		Outcome string `json:"outcome"`
	}
	if err == nil {
		_ = rpc.DecodeLenient(result, &got) // a response without an outcome is a refusal
	}
	p.open = slices.DeleteFunc(p.open, func(other *prompt) bool { return other == k })
	switch {
	case got.Outcome == "injected" || got.Outcome == "startedNewTurn":
		p.recordRead(k)
	case !errors.Is(err, rpc.ErrGone):
		p.refused = append(p.refused, k.injected)
		p.a.Log("info", steerMethod+": "+got.Outcome)
	}
	if len(p.open) > 0 {
		signal(p.answered)
		return
	}
	p.end(p.err)
}
