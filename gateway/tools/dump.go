package tools

import (
	"context"
	"encoding/json"
)

type stepPosition struct {
	Index int `json:"step_index"`
	Count int `json:"step_count"`
}

// dump is a step, or a whole runbook, which has no position.
type dump struct {
	Text       string          `json:"markdown_doc"`
	URI        string          `json:"uri"`
	Label      string          `json:"label"`
	ChainLabel string          `json:"chain_label"`
	Position   *stepPosition   `json:"position,omitempty"`
	Challenge  json.RawMessage `json:"challenge,omitempty"`
	Count      int             `json:"step_count,omitempty"` // of a whole runbook
}

// kairosDump returns the text of a step or of a whole runbook.
func (s *session) kairosDump(ctx context.Context, c call) (any, error) {
	whole := c.args.flag("protocol")
	b, step, err := s.findStep(ctx, c.args)
	if err != nil {
		return nil, err
	}
	if whole {
		return dump{Text: b.Text, URI: b.stepURI(1), Label: b.Label, ChainLabel: b.Label, Count: len(b.Steps)}, nil
	}
	return dump{
		Text: step.Body, URI: b.stepURI(step.Index), Label: step.Label, ChainLabel: b.Label,
		Position: &stepPosition{step.Index, len(b.Steps)}, Challenge: step.Definition,
	}, nil
}
