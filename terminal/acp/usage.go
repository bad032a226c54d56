package acp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
)

// promptUsage are the tokens of the response to a prompt. Usage is not in version 1 of the schema
// yet, but Claude Code, Codex and OpenCode send it. Claude Code, Codex and Gemini CLI send Models,
// which in Claude Code also have what subagents use.
type promptUsage struct {
	Usage rpc.Optional[tokenCount] `json:"usage"`
	Meta  rpc.Optional[struct {
		Quota struct {
			Tokens tokenCount `json:"token_count"`
			Models []struct {
				Model  string     `json:"model"`
				Tokens tokenCount `json:"token_count"`
			} `json:"model_usage"`
		} `json:"quota"`
	}] `json:"_meta"`
}

// tokenCount are numbers of tokens in the forms of all agents.
type tokenCount struct {
	Input        int64 `json:"inputTokens"`
	CachedRead   int64 `json:"cachedReadTokens"`
	CachedInput  int64 `json:"cachedInputTokens"`
	CachedWrite  int64 `json:"cachedWriteTokens"`
	CacheWrite   int64 `json:"cacheWriteInputTokens"`
	Output       int64 `json:"outputTokens"`
	Thought      int64 `json:"thoughtTokens"`
	Reasoning    int64 `json:"reasoningOutputTokens"`
	Total        int64 `json:"totalTokens"`
	GeminiInput  int64 `json:"input_tokens"`
	GeminiOutput int64 `json:"output_tokens"`
}

// usage returns the tokens with the cached and the thought ones. Some agents count those among the
// others, and some beside them, which the total tells.
func (t tokenCount) usage(model string) terminal.Usage {
	cached, thought := t.CachedRead+t.CachedInput+t.CachedWrite+t.CacheWrite, t.Thought+t.Reasoning
	input, output := t.Input+t.GeminiInput+cached, t.Output+t.GeminiOutput+thought
	switch input + output - t.Total {
	case thought:
		output -= thought
	case cached:
		input -= cached
	case cached + thought:
		input, output = input-cached, output-thought
	}
	return terminal.Usage{Model: model, InputTokens: input, OutputTokens: output}
}

// reports returns the usage in a response, that of the most used model first. model is the model of
// the session.
func (u promptUsage) reports(model string) (all []terminal.Usage) {
	for _, m := range u.Meta.V.Quota.Models {
		all = append(all, m.Tokens.usage(m.Model))
	}
	if len(all) == 0 {
		all = append(all, cmp.Or(u.Usage.V, u.Meta.V.Quota.Tokens).usage(model))
	}
	all = slices.DeleteFunc(all, func(r terminal.Usage) bool { return r.InputTokens <= 0 && r.OutputTokens <= 0 })
	slices.SortStableFunc(all, func(a, b terminal.Usage) int {
		return cmp.Compare(b.InputTokens+b.OutputTokens, a.InputTokens+a.OutputTokens)
	})
	return all
}

// reportUsage reports the tokens of a response to a prompt.
func (s *session) reportUsage(t terminal.Turn, response json.RawMessage) {
	var u promptUsage
	_ = json.Unmarshal(response, &u) // malformed fields count as missing
	s.mu.Lock()
	defer s.mu.Unlock()
	all := u.reports(s.details.modelName())
	for i, report := range all {
		if i == 0 {
			s.details.usedModel = report.Model
		}
		t.Report(report)
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
// It is 0 while the cost before is unknown. An amount that became smaller counts from zero: some
// agents count per process.
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
