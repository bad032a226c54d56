package chatrun

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/runbook"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Subcommands of /run, which cannot be names of runbooks.
const (
	resumeWord  = "resume"
	skipWord    = "skip"
	commentWord = "comment"
)

// nothingToResumeText is the answer to /run resume if no run waits, or not the run with this ID.
func nothingToResumeText(w words.Words, id string) string {
	if id == "" {
		return w.Text(words.RunNoneWaiting)
	}
	return w.Text(words.RunNotWaiting, terminal.CodeSpan(terminal.OneLine(id, maxLabel)))
}

// List returns a text in a person's language that lists the runbooks, and the names of those that
// can be run.
func (rb *Runbooks) List(language string) (text string, runnable []string) {
	w := rb.o.Words.For(language)
	folder := rb.o.Folder()
	names, err := folder.Names()
	if err != nil {
		rb.o.Log.Error("runbooks not listed", zap.Error(err))
		return w.Text(words.RunbooksNotRead), nil
	}
	if len(names) == 0 {
		return w.Text(words.RunbooksNone), nil
	}
	lines := []string{w.Text(words.RunbooksList)}
	for _, name := range names {
		if slices.Contains([]string{resumeWord, skipWord, commentWord}, strings.ToLower(name)) {
			lines = append(lines, "- "+w.Text(words.RunbookReserved, terminal.CodeSpan(name), name))
			continue
		}
		book, _, err := folder.Load(name)
		if err != nil {
			lines = append(lines, "- "+terminal.OneLine(listedErrorText(w, name, err), 200))
			continue
		}
		runnable = append(runnable, name)
		lines = append(lines, "- "+w.Text(words.RunbookListed, terminal.CodeSpan(name),
			terminal.OneLine(book.Label, maxLabel), len(book.Steps)))
	}
	return strings.Join(lines, "\n"), runnable
}

// listedErrorText explains why a runbook of the list cannot be run.
func listedErrorText(w words.Words, name string, err error) string {
	var invalid *runbook.InvalidTextError
	if errors.As(err, &invalid) {
		return w.Text(words.RunbookInvalid, terminal.CodeSpan(name), invalid)
	}
	return terminal.CodeSpan(name) + ": " + cannotRunText(w, name, err)
}

// Command handles the arguments of /run.
func (rb *Runbooks) Command(ctx context.Context, s Statement) (Result, error) {
	word, rest, _ := strings.Cut(s.Text, " ")
	rest = strings.TrimSpace(rest)
	w := rb.o.Words.For(s.In.User.Language)
	switch strings.ToLower(word) {
	case "":
		text, err := rb.usageText(ctx, w, s.In.Chat)
		return Result{Reply: text}, err
	case resumeWord:
		_, ok, err := rb.findResumable(ctx, s.In.Chat, rest)
		if err != nil || !ok {
			return Result{Reply: nothingToResumeText(w, rest)}, err
		}
		return Result{Continue: true}, nil
	case skipWord:
		s.Text = rest
		return rb.answerNewest(ctx, s, runbook.ToSkip, runbook.Run.CanSkip)
	case commentWord:
		s.Text = rest
		return rb.answerNewest(ctx, s, runbook.ToComment, needsComment)
	}
	if _, _, err := rb.o.Folder().Load(s.Text); err != nil {
		return Result{Reply: cannotRunText(w, s.Text, err)}, nil
	}
	return Result{Continue: true}, nil
}

// usageText describes /run and lists the waiting runs.
func (rb *Runbooks) usageText(ctx context.Context, w words.Words, chat channels.Chat) (string, error) {
	runs, err := rb.listRuns(ctx, chat)
	if err != nil {
		return "", err
	}
	lines := []string{w.Text(words.RunUsage)}
	for _, r := range runs {
		if r.Status == runbook.Waiting {
			lines = append(lines, w.Text(words.RunWaits, r.ID, runTitle(r), r.Step, len(r.Runbook().Steps)))
		}
	}
	return strings.Join(lines, "\n"), nil
}

// needsComment reports whether the current step of a run is proved by a comment.
func needsComment(r runbook.Run) bool {
	step, ok := r.CurrentStep()
	return ok && r.Status == runbook.Waiting && step.Challenge != nil && step.Challenge.Type == runbook.Comment
}

// answerNewest answers the open question about the newest run of the chat that fits.
func (rb *Runbooks) answerNewest(ctx context.Context, s Statement, verb runbook.Verb, fits func(runbook.Run) bool) (
	Result, error,
) {
	none := Result{Reply: rb.reply(s, words.RunNothingToSkip)}
	r, ok, err := rb.findNewest(ctx, s.In.Chat, fits)
	if err != nil || !ok {
		return none, err
	}
	q, found, err := rb.o.Questions.Question(ctx, driverOf(r).Question)
	if err != nil || !found {
		return none, err
	}
	step, _ := r.CurrentStep()
	if at := slices.Index(stepVerbs(step), verb); at >= 0 && at < len(q.Options) {
		s.Text = strings.TrimSpace(q.Options[at] + " " + s.Text) // as in a reply to the question
	}
	if verb == runbook.ToComment && parseDecision(r, q, s.Text).Verb != verb {
		return Result{Reply: rb.reply(s, words.RunCommentRefused)}, nil // it is the label of a button
	}
	result, err := rb.Answer(ctx, q, s)
	if result.Unrelated {
		return none, nil
	}
	return result, err
}
