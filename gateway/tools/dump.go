package tools

import (
	"context"
	"encoding/json"
)

type stepPosition struct {
	Index int `json:"step_index"`
	Count int `json:"step_count"`
}

type dumpedStep struct {
	Text       string          `json:"markdown_doc"`
	URI        string          `json:"uri"`
	Label      string          `json:"label"`
	ChainLabel string          `json:"chain_label"`
	Position   stepPosition    `json:"position"`
	Challenge  json.RawMessage `json:"challenge,omitempty"`
}

type dumpedBook struct {
	Text       string `json:"markdown_doc"`
	URI        string `json:"uri"`
	Label      string `json:"label"`
	ChainLabel string `json:"chain_label"`
	Count      int    `json:"step_count"`
}

// kairosDump returns the text of a step or of a whole runbook.
func (s *session) kairosDump(ctx context.Context, c call) (any, error) {
	whole := c.args.flag("protocol")
	b, step, err := s.findStep(ctx, c.args)
	if err != nil {
		return nil, err
	}
	if whole {
		return dumpedBook{Text: b.Text, URI: b.stepURI(1), Label: b.Label, ChainLabel: b.Label, Count: len(b.Steps)}, nil
	}
	return dumpedStep{
		Text: step.Body, URI: b.stepURI(step.Index), Label: step.Label, ChainLabel: b.Label,
		Position: stepPosition{step.Index, len(b.Steps)}, Challenge: step.Definition,
	}, nil
}
