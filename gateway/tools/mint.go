package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"nanobot/gateway/runbook"
)

const (
	maxMinted      = 1000    // runbooks that the agents of a chat can store
	maxMintedBytes = 4 << 20 // total size for a chat, because each search reads all of them
	// maxPerDocument is less than a chat's burst of writes, so that waiting always helps.
	maxPerDocument = 50
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

// kairosMint stores the runbooks of a document, or none of them if one is refused.
func (s *session) kairosMint(ctx context.Context, c call) (any, error) {
	m := readMinting(c.args)
	if c.args.err != nil {
		return nil, c.args.err
	}
	books, mistakes, warnings := runbook.ParseDocument(m.Text)
	if len(mistakes) > 0 {
		return nil, textFailure(mistakes)
	}
	if err := s.checkMint(ctx, books, m.Force); err != nil {
		return nil, err
	}
	if err := s.admitWrites(len(books)); err != nil {
		return nil, err
	}
	result := mintResult{Status: "stored", Warnings: warnings}
	for _, book := range books {
		m.Chat, m.Text = s.chat, book.Text
		stored, err := s.options.Runs.Mint(ctx, m)
		b := libraryEntry{Runbook: stored.Runbook, source: stored.Source()}
		if err != nil {
			return nil, mintFailure(ctx, b, err)
		}
		for _, step := range b.Steps {
			result.Items = append(result.Items, mintedItem{
				b.stepURI(step.Index), b.source.StepUUID(step.Index), step.Label,
				[]string{},
			})
		}
	}
	return result, nil
}

// mintFailure returns the failure for an error of Mint, which comes with the stored runbook if that
// is the reason.
func mintFailure(ctx context.Context, b libraryEntry, err error) error {
	switch {
	case errors.Is(err, runbook.ErrDuplicate):
		return &failure{
			Code: duplicateChain, Items: b.items(),
			Message: fmt.Sprintf("There is a runbook with the label %q. Call kairos_mint with force_update true to replace it, "+
				"or choose another H1.", b.Label),
		}
	case errors.Is(err, runbook.ErrShared):
		return &failure{
			Code: duplicateChain, Items: b.items(),
			Message: fmt.Sprintf("A runbook of all chats has the label %q, and agents do not replace those. Choose another H1.",
				b.Label),
		}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &failure{Code: storeFailed, Message: toSentence(err)}
}

func readMinting(args *arguments) runbook.MintRequest {
	m := runbook.MintRequest{
		Text: args.text("markdown_doc", maxLine), Model: args.text("llm_model_id", 200),
		Force: args.flag("force_update"),
	}
	// Models often encode the document twice.
	var decoded *string
	if json.Unmarshal([]byte(m.Text), &decoded) == nil && decoded != nil {
		m.Text = *decoded
	}
	args.refuseBlank("markdown_doc", m.Text)
	if len(m.Text) > runbook.MaxText {
		args.fail(storeFailed, "markdown_doc has %d bytes, and at most %d are accepted. Shorten it.", len(m.Text),
			runbook.MaxText)
	}
	return m
}

// textFailure returns the failure of a text with errors.
func textFailure(problems []runbook.Problem) error {
	lines := make([]string, 0, len(problems))
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("line %d: %s", p.Line, p.Message))
	}
	return &failure{Code: storeFailed, Message: strings.Join(lines, "\n")}
}

// checkMint refuses runbooks whose labels are taken, and new runbooks if too much is stored. It
// checks all of a document before the first one is stored.
func (s *session) checkMint(ctx context.Context, books []runbook.Runbook, force bool) error {
	if len(books) > maxPerDocument {
		return &failure{
			Code: storeFailed,
			Message: fmt.Sprintf("The document has %d runbooks, and at most %d are accepted. Divide it.", len(books),
				maxPerDocument),
		}
	}
	size, number, labels := 0, len(books), map[string]bool{}
	for _, b := range books {
		size, labels[b.Label] = size+len(b.Text), true
	}
	ours, err := s.workspaceRunbooks()
	if err != nil {
		return err
	}
	for _, b := range ours {
		if labels[b.Label] {
			return &failure{
				Code: duplicateChain, Items: b.items(),
				Message: fmt.Sprintf("A runbook of the workspace has the label %q, and only people change those. "+
					"Choose another H1.", b.Label),
			}
		}
	}
	minted, err := s.mintedRunbooks(ctx)
	if err != nil {
		return err
	}
	for _, b := range minted {
		switch {
		case b.shared && labels[b.Label]:
			return mintFailure(ctx, b, runbook.ErrShared)
		case labels[b.Label] && !force:
			return mintFailure(ctx, b, runbook.ErrDuplicate)
		case !b.shared && !labels[b.Label]:
			size, number = size+len(b.Text), number+1
		}
	}
	if number > maxMinted || size > maxMintedBytes {
		return &failure{
			Code: storeFailed,
			Message: fmt.Sprintf("%d runbooks are stored already, which is too much. Replace one of them with force_update.",
				number-len(books)),
		}
	}
	return nil
}
