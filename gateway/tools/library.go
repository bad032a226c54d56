package tools

import (
	"context"
	"slices"

	"go.uber.org/zap"

	"nanobot/gateway/runbook"
)

// libraryEntry is a runbook of the workspace or a minted one.
type libraryEntry struct {
	runbook.Runbook
	source runbook.Source
	name   string // of the file; "" for a stored one
	broken bool   // has errors, so it cannot be executed
	shared bool   // is a stored one that all chats see
}

// stepURI returns the URI of a step.
func (b libraryEntry) stepURI(index int) string { return b.source.StepURI(index) }

// items returns the steps in the form of a refused kairos_mint.
func (b libraryEntry) items() []item {
	items := make([]item, 0, len(b.Steps))
	for _, s := range b.Steps {
		items = append(items, item{s.Label, b.stepURI(s.Index)})
	}
	return items
}

// workspaceRunbooks returns the runbooks of the folder, including broken ones.
func (s *session) workspaceRunbooks() ([]libraryEntry, error) {
	names, err := s.options.Folder.Names()
	if err != nil {
		return nil, err
	}
	books := make([]libraryEntry, 0, len(names))
	for _, name := range names {
		text, short, err := s.options.Folder.Read(name)
		if err != nil {
			s.log.Warn("runbook left out", zap.String("runbook", name), zap.Error(err))
			continue
		}
		r, mistakes, _ := runbook.Parse(text)
		books = append(books, libraryEntry{
			Runbook: r, source: runbook.WorkspaceSource(short), name: short, broken: len(mistakes) > 0,
		})
	}
	return books, nil
}

// mintedRunbooks returns the stored runbooks of the chat, and those that all chats see.
func (s *session) mintedRunbooks(ctx context.Context) ([]libraryEntry, error) {
	all, err := s.options.Runs.ListMinted(ctx, s.chat)
	if err != nil && all == nil {
		return nil, err
	}
	if err != nil {
		s.log.Warn("runbooks left out", zap.Error(err))
	}
	books := make([]libraryEntry, 0, len(all))
	for _, m := range all {
		books = append(books, libraryEntry{Runbook: m.Runbook, source: m.Source(), shared: m.Shared})
	}
	return books, nil
}

// allRunbooks returns all runbooks that can be executed, those of the workspace first.
func (s *session) allRunbooks(ctx context.Context) ([]libraryEntry, error) {
	books, err := s.workspaceRunbooks()
	if err != nil {
		return nil, err
	}
	books = slices.DeleteFunc(books, func(b libraryEntry) bool { return b.broken })
	minted, err := s.mintedRunbooks(ctx)
	return append(books, minted...), err
}

// readURI returns the argument uri and checks its form.
func readURI(args *arguments) string {
	uri := args.text("uri", 200)
	if uri == "" {
		args.fail(invalidURI, "uri is required. kairos_search returns the URIs of runbooks.")
	} else if !runbook.IsURI(uri) {
		args.fail(invalidURI, "%q is not a URI of the form kairos://mem/{uuid}. kairos_search returns the URIs of runbooks.",
			uri)
	}
	return uri
}

// findStep returns the step with the URI of a call, and its runbook.
func (s *session) findStep(ctx context.Context, args *arguments) (libraryEntry, runbook.Step, error) {
	uri := readURI(args)
	if args.err != nil {
		return libraryEntry{}, runbook.Step{}, args.err
	}
	books, err := s.allRunbooks(ctx)
	if err != nil {
		return libraryEntry{}, runbook.Step{}, err
	}
	for _, b := range books {
		if i := b.source.StepIndex(uri, len(b.Steps)); i > 0 {
			return b, b.Steps[i-1], nil
		}
	}
	return libraryEntry{}, runbook.Step{}, &failure{
		Code:    notFound,
		Message: "No runbook has a step with this URI. kairos_search returns the URIs of runbooks.",
	}
}
