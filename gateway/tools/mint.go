package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"nanobot/gateway/runbook"
)

const (
	maxMinted      = 1000    // runbooks that the agents of a chat can store
	maxMintedBytes = 4 << 20 // total size for a chat, because each search reads all of them
)

type mintedItem struct {
	URI   string   `json:"uri"`
	UUID  string   `json:"memory_uuid"`
	Label string   `json:"label"`
	Tags  []string `json:"tags"`
}

type mintResult struct {
	Items    []mintedItem      `json:"items"`
	Status   string            `json:"status"`
	Warnings []runbook.Problem `json:"warnings,omitempty"`
}

// kairosMint stores a runbook.
func (s *session) kairosMint(ctx context.Context, c call) (any, error) {
	m := readMinting(c.args)
	if c.args.err != nil {
		return nil, c.args.err
	}
	read, mistakes, warnings := runbook.Parse(m.Text)
	if len(mistakes) > 0 {
		return nil, textFailure(&runbook.InvalidTextError{Problems: mistakes})
	}
	if err := s.checkMintLimits(ctx, read.Label, read.Text); err != nil {
		return nil, err
	}
	if err := s.admitWrite(); err != nil {
		return nil, err
	}
	m.Chat = s.chat
	stored, err := s.options.Runs.Mint(ctx, m)
	b := libraryEntry{Runbook: stored.Runbook, source: stored.Source()}
	var refused *runbook.InvalidTextError
	switch {
	case errors.Is(err, runbook.ErrDuplicate):
		return nil, &failure{
			Code: duplicateChain, Items: b.items(),
			Message: "There is a runbook with this label. Call kairos_mint with force_update true to replace it, or choose " +
				"another H1.",
		}
	case errors.Is(err, runbook.ErrShared):
		return nil, &failure{
			Code: duplicateChain, Items: b.items(),
			Message: "A runbook of all chats has this label, and agents do not replace those. Choose another H1.",
		}
	case errors.As(err, &refused):
		return nil, textFailure(refused)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &failure{Code: storeFailed, Message: toSentence(err)}
	}
	result := mintResult{Status: "stored", Warnings: warnings}
	for _, step := range b.Steps {
		result.Items = append(result.Items, mintedItem{
			b.stepURI(step.Index), b.source.StepUUID(step.Index), step.Label,
			[]string{},
		})
	}
	return result, nil
}

func readMinting(args *arguments) runbook.MintRequest {
	m := runbook.MintRequest{
		Text: args.text("markdown_doc", maxLine), Model: args.text("llm_model_id", 200),
		Force: args.flag("force_update"),
	}
	if len(m.Text) > runbook.MaxText {
		args.fail(storeFailed, "markdown_doc has %d bytes, and at most %d are accepted. Shorten it.", len(m.Text),
			runbook.MaxText)
	}
	return m
}

// textFailure returns the failure of a text with errors.
func textFailure(e *runbook.InvalidTextError) error {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, fmt.Sprintf("line %d: %s", p.Line, p.Message))
	}
	return &failure{Code: storeFailed, Message: strings.Join(lines, "\n")}
}

// checkMintLimits refuses the label of a workspace runbook, and a new runbook if too much is
// stored.
func (s *session) checkMintLimits(ctx context.Context, label, text string) error {
	ours, err := s.workspaceRunbooks()
	if err != nil {
		return err
	}
	for _, b := range ours {
		if b.Label == label {
			return &failure{
				Code: duplicateChain, Items: b.items(),
				Message: "A runbook of the workspace has this label, and only people change those. Choose another H1.",
			}
		}
	}
	minted, err := s.mintedRunbooks(ctx)
	if err != nil {
		return err
	}
	size, number := len(text), 1
	for _, b := range minted {
		if b.shared || b.Label == label { // replaced, or a duplicate
			continue
		}
		size, number = size+len(b.Text), number+1
	}
	if number > maxMinted || size > maxMintedBytes {
		return &failure{
			Code: storeFailed,
			Message: fmt.Sprintf("%d runbooks are stored already, which is too much. Replace one of them with force_update.",
				number-1),
		}
	}
	return nil
}
