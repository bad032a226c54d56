package tools

import (
	"context"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"nanobot/gateway/runbook"
)

// book is a runbook of the workspace or a stored one.
type book struct {
	runbook.Runbook
	source runbook.Source
	broken bool // it has errors, so it cannot be executed
}

// stepURI returns the URI of a step.
func (b book) stepURI(index int) string { return b.source.StepURI(index) }

// items returns the steps in the way of a refused kairos_mint.
func (b book) items() []item {
	items := make([]item, 0, len(b.Steps))
	for _, s := range b.Steps {
		items = append(items, item{s.Label, b.stepURI(s.Index)})
	}
	return items
}

// workspace returns the runbooks of the folder, with those that are broken.
func (s *session) workspace() ([]book, error) {
	names, err := s.o.Folder.Names()
	if err != nil {
		return nil, err
	}
	books := make([]book, 0, len(names))
	for _, name := range names {
		text, short, err := s.o.Folder.Read(name)
		if err != nil {
			s.log.Warn("runbook left out", zap.String("runbook", name), zap.Error(err))
			continue
		}
		r, mistakes, _ := runbook.Parse(text)
		books = append(books, book{r, runbook.WorkspaceSource(short), len(mistakes) > 0})
	}
	return books, nil
}

// minted returns the runbooks that agents stored.
func (s *session) minted(ctx context.Context) ([]book, error) {
	all, err := s.o.Runs.ListMinted(ctx)
	if err != nil && all == nil {
		return nil, err
	}
	if err != nil {
		s.log.Warn("runbooks left out", zap.Error(err))
	}
	books := make([]book, 0, len(all))
	for _, m := range all {
		books = append(books, book{m.Runbook, m.Source(), false})
	}
	return books, nil
}

// library returns all runbooks that can be executed, first those of the workspace.
func (s *session) library(ctx context.Context) ([]book, error) {
	books, err := s.workspace()
	if err != nil {
		return nil, err
	}
	books = slices.DeleteFunc(books, func(b book) bool { return b.broken })
	minted, err := s.minted(ctx)
	return append(books, minted...), err
}

// readURI returns the argument uri, which must have the form of one.
func readURI(args arguments) (string, error) {
	uri, err := args.text("uri", 200)
	switch {
	case err != nil:
		return "", err
	case uri == "":
		return "", &failure{Code: invalidURI, Message: "uri is required. kairos_search returns the URIs of runbooks."}
	case !runbook.IsURI(uri):
		return "", &failure{Code: invalidURI, Message: fmt.Sprintf("%q is not a URI of the form kairos://mem/{uuid}. kairos_search returns the URIs of runbooks.", uri)}
	}
	return uri, nil
}

// find returns the runbook that has a step with the URI of a call, and which one it is.
func (s *session) find(ctx context.Context, args arguments) (book, runbook.Step, error) {
	uri, err := readURI(args)
	if err != nil {
		return book{}, runbook.Step{}, err
	}
	books, err := s.library(ctx)
	if err != nil {
		return book{}, runbook.Step{}, err
	}
	for _, b := range books {
		if i := b.source.StepIndex(uri, len(b.Steps)); i > 0 {
			return b, b.Steps[i-1], nil
		}
	}
	return book{}, runbook.Step{}, &failure{Code: notFound, Message: "No runbook has a step with this URI. kairos_search returns the URIs of runbooks."}
}
