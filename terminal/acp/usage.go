package acp

import (
	"encoding/json"
	"strings"

	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
)

// promptUsage are the tokens of the response to a prompt. Usage is not in version 1 of the schema
// yet, but Claude Code, Codex and OpenCode send it; Gemini has its own form in Meta.
type promptUsage struct {
	Usage rpc.Optional[struct {
		Input  int64 `json:"inputTokens"`
		Output int64 `json:"outputTokens"`
		// Thought are counted in Output by some agents, and beside it by others.
		Thought int64 `json:"thoughtTokens"`
		Total   int64 `json:"totalTokens"`
	}] `json:"usage"`
	Meta rpc.Optional[struct {
		Quota struct {
			Tokens tokenCount `json:"token_count"`
			Models []struct {
				Model  string     `json:"model"`
				Tokens tokenCount `json:"token_count"`
			} `json:"model_usage"`
		} `json:"quota"`
	}] `json:"_meta"`
}

type tokenCount struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

// reports returns the usage in a response. model is the model of the session.
func (u promptUsage) reports(model string) (all []terminal.Usage) {
	quota := u.Meta.V.Quota
	switch {
	case u.Usage.OK:
		t := u.Usage.V
		input := max(t.Input, t.Total-t.Output-t.Thought) // some agents count cached tokens only in the total
		all = append(all, terminal.Usage{Model: model, InputTokens: input, OutputTokens: max(t.Output, t.Total-input)})
	case len(quota.Models) > 0:
		for _, m := range quota.Models {
			all = append(all, terminal.Usage{Model: m.Model, InputTokens: m.Tokens.Input, OutputTokens: m.Tokens.Output})
		}
	default:
		all = append(all, terminal.Usage{Model: model, InputTokens: quota.Tokens.Input, OutputTokens: quota.Tokens.Output})
	}
	return all
}

// reportUsage reports the tokens of a response to a prompt.
func (s *session) reportUsage(t terminal.Turn, response json.RawMessage) {
	var u promptUsage
	_ = json.Unmarshal(response, &u) // malformed fields count as missing
	s.mu.Lock()
	model := s.details.modelName()
	s.mu.Unlock()
	for _, report := range u.reports(model) {
		if report.InputTokens > 0 || report.OutputTokens > 0 {
			t.Report(report)
		}
	}
}

// modelName returns the ID of the chosen model; "": unknown.
func (a *sessionDetails) modelName() string {
	if c := a.find(modelChoice); c != nil {
		return c.current
	}
	return ""
}

// takeCost returns by how much the cost of the session has grown since the last call, in dollars.
// It is 0 while the cost before is unknown, as in a session that was just restored. An amount that
// became smaller counts from zero: some agents count per process.
func (a *sessionDetails) takeCost() (dollars float64) {
	if a.cost == nil || !strings.EqualFold(a.cost.Currency, "USD") {
		return 0
	}
	switch {
	case a.counted == nil:
	case a.counted.Amount <= a.cost.Amount:
		dollars = a.cost.Amount - a.counted.Amount
	default:
		dollars = a.cost.Amount
	}
	a.counted = a.cost
	return dollars
}
