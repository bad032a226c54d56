package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nanobot/terminal"
)

const (
	maxMessage  = 256 << 10 // channels send longer texts as documents
	maxFiles    = 50
	maxPath     = 4 << 10 // PATH_MAX of Linux
	maxCaption  = 4 << 10
	maxOptions  = 20
	maxOption   = 200
	maxQuestion = 4 << 10
	maxProgress = 1 << 10
	maxQuery    = 1 << 10

	defaultHistory, maxHistory = 20, 100
	maxHistoryText             = 8 << 10 // of each message in a result

	maxQuestionTimeout = 24 * time.Hour
)

type sendResult struct {
	Sent  bool `json:"sent"`
	Files int  `json:"files,omitempty"`
}

// sendMessage sends a text.
func (s *session) sendMessage(ctx context.Context, c call) (any, error) {
	text := c.args.requiredText("text", maxMessage)
	if c.args.err != nil {
		return nil, c.args.err
	}
	return s.send(ctx, Message{Text: text})
}

// sendFiles sends files, as albums where the network has them.
func (s *session) sendFiles(ctx context.Context, c call) (any, error) {
	text := c.args.text("text", maxMessage)
	var files []File
	c.args.decode("files", `a list of objects like {"path": "out.png", "caption": "The result"}`, &files)
	if len(files) == 0 || len(files) > maxFiles {
		c.args.refuse("files must have 1 to %d entries (got %d).", maxFiles, len(files))
	}
	for i, f := range files {
		if f.Path == "" || len(f.Path) > maxPath || strings.ContainsRune(f.Path, 0) {
			c.args.refuse("files[%d].path must be the path of a file.", i)
		}
		c.args.checkLength(fmt.Sprintf("files[%d].caption", i), f.Caption, maxCaption)
	}
	if c.args.err != nil {
		return nil, c.args.err
	}
	return s.send(ctx, Message{Text: text, Files: files})
}

func (s *session) send(ctx context.Context, m Message) (any, error) {
	if err := s.options.Chat.Send(ctx, m); err != nil {
		return nil, chatFailure(ctx, notSent, err)
	}
	return sendResult{true, len(m.Files)}, nil
}

// chatFailure converts an error of the chat to a failure.
func chatFailure(ctx context.Context, code string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.As(err, new(*RateLimitError)) {
		code = rateLimited
	}
	return &failure{Code: code, Message: toSentence(err)}
}

type askResult struct {
	Answer string `json:"answer"`
	By     string `json:"by"`
}

// askUser asks a question and waits for the answer.
func (s *session) askUser(ctx context.Context, c call) (any, error) {
	q := readQuestion(c.args)
	if c.args.err != nil {
		return nil, c.args.err
	}
	ctx, cancel := s.untilInputEnds(ctx)
	defer cancel()
	var answer terminal.Answer
	err := withProgress(ctx, c.req, func(ctx context.Context) (err error) {
		answer, err = s.options.Chat.Ask(ctx, q)
		return err
	})
	if err != nil {
		return nil, chatFailure(ctx, notAnswered, err)
	}
	return askResult{answer.Text, answer.By}, nil
}

func readQuestion(args *arguments) (q terminal.Question) {
	q.Text = args.requiredText("question", maxQuestion)
	args.decode("options", "a list of strings", &q.Options)
	if len(q.Options) > maxOptions {
		args.refuse("options must have at most %d entries (got %d).", maxOptions, len(q.Options))
	}
	for i, o := range q.Options {
		if strings.TrimSpace(o) == "" || len(o) > maxOption {
			args.refuse("options[%d] must have 1 to %d bytes.", i, maxOption)
		}
	}
	q.Secret = args.flag("secret")
	seconds := args.number("timeout_seconds", 0)
	if seconds < 0 || seconds > maxQuestionTimeout.Seconds() {
		args.refuse("timeout_seconds must be from 0 to %.0f.", maxQuestionTimeout.Seconds())
	}
	q.Timeout = time.Duration(seconds * float64(time.Second))
	return q
}

type progressResult struct {
	Shown bool `json:"shown"`
}

// progress shows what the agent is doing.
func (s *session) progress(ctx context.Context, c call) (any, error) {
	text := c.args.requiredText("text", maxProgress)
	if c.args.err != nil {
		return nil, c.args.err
	}
	if err := s.options.Chat.Progress(ctx, text); err != nil {
		return nil, chatFailure(ctx, notShown, err)
	}
	return progressResult{true}, nil
}

type historyResult struct {
	Messages []HistoryMessage `json:"messages"`
}

// searchHistory searches the messages of the chat.
func (s *session) searchHistory(ctx context.Context, c call) (any, error) {
	query, limit := c.args.text("query", maxQuery), c.args.number("limit", defaultHistory)
	if limit < 1 || limit > maxHistory {
		c.args.refuse("limit must be from 1 to %d.", maxHistory)
	}
	if c.args.err != nil {
		return nil, c.args.err
	}
	found, err := s.options.Chat.Search(ctx, query, int(limit))
	if err != nil {
		return nil, chatFailure(ctx, notSearched, err)
	}
	h := historyResult{Messages: make([]HistoryMessage, 0, len(found))}
	for _, f := range found {
		if len(f.Text) > maxHistoryText {
			f.Text = strings.ToValidUTF8(f.Text[:maxHistoryText], "") + " […]"
		}
		h.Messages = append(h.Messages, f)
	}
	return h, nil
}
