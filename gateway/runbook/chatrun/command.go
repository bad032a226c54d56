package chatrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

// Subcommands of /run, which cannot be names of runbooks.
const (
	resumeWord  = "resume"
	skipWord    = "skip"
	commentWord = "comment"
)

// nothingToResumeText is the answer to /run resume if no run waits, or not the run with this ID.
func nothingToResumeText(id string) string {
	if id == "" {
		return "No run is waiting here. /runbooks lists the runbooks."
	}
	return fmt.Sprintf("No run %s is waiting here. /run lists those that are.", terminal.CodeSpan(terminal.OneLine(id, maxLabel)))
}

// List returns a text that lists the runbooks, and the names of those that can be run.
func (rb *Runbooks) List() (text string, runnable []string) {
	folder := rb.o.Folder()
	names, err := folder.Names()
	if err != nil {
		rb.o.Log.Error("runbooks not listed", zap.Error(err))
		return "The runbooks cannot be read. The bot's log has the reason.", nil
	}
	if len(names) == 0 {
		return "There are no runbooks.", nil
	}
	lines := []string{"Runbooks. To run one, send /run and its name:"}
	for _, name := range names {
		if slices.Contains([]string{resumeWord, skipWord, commentWord}, strings.ToLower(name)) {
			lines = append(lines, fmt.Sprintf("- %s: cannot be run in a chat, because /run %[2]s means something else. Rename the file.", terminal.CodeSpan(name), name))
			continue
		}
		book, _, err := folder.Load(name)
		if err != nil {
			lines = append(lines, "- "+terminal.OneLine(listedErrorText(name, err), 200))
			continue
		}
		runnable = append(runnable, name)
		steps := "1 step"
		if n := len(book.Steps); n > 1 {
			steps = fmt.Sprintf("%d steps", n)
		}
		lines = append(lines, fmt.Sprintf("- %s: %s (%s)", terminal.CodeSpan(name), terminal.OneLine(book.Label, maxLabel), steps))
	}
	return strings.Join(lines, "\n"), runnable
}

// listedErrorText explains why a runbook of the list cannot be run.
func listedErrorText(name string, err error) string {
	var invalid *runbook.InvalidTextError
	if errors.As(err, &invalid) {
		return fmt.Sprintf("%s cannot be run: %v", terminal.CodeSpan(name), invalid)
	}
	return fmt.Sprintf("%s: %s", terminal.CodeSpan(name), cannotRunText(name, err))
}

// Command handles the arguments of /run.
func (rb *Runbooks) Command(ctx context.Context, s Statement) (Result, error) {
	word, rest, _ := strings.Cut(s.Text, " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "":
		text, err := rb.usageText(ctx, s.In.Chat)
		return Result{Reply: text}, err
	case resumeWord:
		_, ok, err := rb.findResumable(ctx, s.In.Chat, rest)
		if err != nil || !ok {
			return Result{Reply: nothingToResumeText(rest)}, err
		}
		return Result{Continue: true}, nil
	case skipWord:
		s.Text = strings.TrimSpace(skipOption + " " + rest)
		return rb.answerNewest(ctx, s, runbook.Run.CanSkip)
	case commentWord:
		s.Text = rest
		return rb.answerNewest(ctx, s, needsComment)
	}
	if _, _, err := rb.o.Folder().Load(s.Text); err != nil {
		return Result{Reply: cannotRunText(s.Text, err)}, nil
	}
	return Result{Continue: true}, nil
}

// usageText describes /run and lists the waiting runs.
func (rb *Runbooks) usageText(ctx context.Context, chat channels.Chat) (string, error) {
	runs, err := rb.listRuns(ctx, chat)
	if err != nil {
		return "", err
	}
	lines := []string{"To run a runbook, send /run and its name. /runbooks lists them."}
	for _, r := range runs {
		if r.Status == runbook.Waiting {
			lines = append(lines, fmt.Sprintf("The run %s of %q waits at step %d of %d. To continue, send /run resume %[1]s", r.ID, runTitle(r), r.Step, len(r.Runbook().Steps)))
		}
	}
	return strings.Join(lines, "\n"), nil
}

// needsComment reports whether the current step of a run is proved by a comment.
func needsComment(r runbook.Run) bool {
	step, ok := r.CurrentStep()
	return ok && r.Status == runbook.Waiting && step.Challenge != nil && step.Challenge.Type == runbook.Comment
}

// answerNewest answers the open question about the newest run of the chat that fits, or the
// question that the same message has already decided.
func (rb *Runbooks) answerNewest(ctx context.Context, s Statement, fits func(runbook.Run) bool) (Result, error) {
	r, ok, err := rb.findNewest(ctx, s.In.Chat, func(r runbook.Run) bool {
		return s.In.ID != "" && driverOf(r).Message == s.In.ID
	})
	question := driverOf(r).Decided
	if err == nil && !ok {
		r, ok, err = rb.findNewest(ctx, s.In.Chat, fits)
		question = driverOf(r).Question
	}
	if err != nil || !ok {
		return Result{Reply: nothingToSkip}, err
	}
	q, found, err := rb.o.Questions.Question(ctx, question)
	if err != nil || !found {
		return Result{Reply: nothingToSkip}, err
	}
	result, err := rb.Answer(ctx, q, s)
	if result.Unrelated {
		return Result{Reply: nothingToSkip}, nil
	}
	return result, err
}
