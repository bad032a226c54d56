package gateway

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/tools"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// The errors of a chat's tools are read by the agent: they say what it can do.
var (
	errNoAccess = errors.New("nobody who has written in this chat lately has access to the bot any more, so nothing " +
		"can be sent to it")
	errNoTurnToAsk = errors.New("no turn runs in this chat now, so there is nothing that a question could be about; " +
		"send a message instead, and the person can write back")
	errNoBoard = errors.New("no turn runs in this chat now, so there is no progress to show; send a message if the " +
		"person must know")
	errNoAgent = errors.New("the agent that this process belongs to is no longer configured, so no files can be sent")
	errNoRoom  = errors.New("the bot cannot store messages at the moment; wait a little and try again")
)

// toolChat is the chat of a tool's process. During a turn, tools act through the turn, like its
// agent; between turns they use the outbox.
type toolChat struct {
	g     *Gateway
	chat  channels.Chat
	owner terminal.Owner
	dir   string // base of relative paths; "": the working directory of the agent
}

var _ tools.Chat = (*toolChat)(nil)

// Name returns channel:id.
func (c *toolChat) Name() string { return c.chat.String() }

// Send posts a message. During a turn it notifies nobody, since the last message of the turn will;
// between turns it does.
func (c *toolChat) Send(ctx context.Context, m tools.Message) error {
	last, err := c.g.checkAccess(ctx, c.chat)
	if err != nil {
		return err
	}
	if err := c.g.rates.messages.allow(c.chat, 1); err != nil {
		return err
	}
	files, err := c.openFiles(ctx, m.Files)
	if err != nil {
		return err
	}
	defer terminal.CloseMedia(files)
	f := terminal.Frame{Kind: terminal.Message, Text: terminal.Clean(messageText(m)), Checked: files}
	during := f
	during.Silent = true
	if err := c.emit(during); !errors.Is(err, turn.ErrNotRunning) {
		return err
	}
	out := &outbox.Message{Message: turn.FrameMessage(f), About: last}
	out.Chat = c.chat
	err = c.g.outbox.Post(ctx, out)
	if errors.Is(err, outbox.ErrNotStored) && ctx.Err() == nil {
		c.g.o.Log.Error("message of a tool not stored", zap.Stringer("chat", c.chat), zap.Error(err))
		return errNoRoom
	}
	return err
}

// emit passes a frame to the running turn.
func (c *toolChat) emit(f terminal.Frame) error {
	t, ok := c.g.lanes.RunningTurn(c.chat)
	if !ok {
		return turn.ErrNotRunning
	}
	return t.EmitForTool(f)
}

// messageText returns the text of a message with the captions of its files. An album has only one
// text, so several captions each name their file.
func messageText(m tools.Message) string {
	var captions []string
	for _, f := range m.Files {
		if strings.TrimSpace(f.Caption) != "" {
			captions = append(captions, filepath.Base(f.Path)+": "+f.Caption)
		}
	}
	if len(captions) == 1 {
		_, captions[0], _ = strings.Cut(captions[0], ": ")
	}
	if strings.TrimSpace(m.Text) != "" {
		captions = append([]string{m.Text}, captions...)
	}
	return strings.Join(captions, "\n")
}

// openFiles opens the files of a message, if all of them may be sent and the network accepts their
// sizes.
func (c *toolChat) openFiles(ctx context.Context, files []tools.File) ([]terminal.File, error) {
	if len(files) == 0 {
		return nil, nil
	}
	agent, err := c.g.ownerAgent(ctx, c.owner)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	open, err := agent.Runner.OpenMedia(c.owner, c.dir, paths)
	if err != nil {
		return nil, err
	}
	l, ok := c.g.o.Channels[c.chat.Channel].(channels.FileLimiter)
	if !ok {
		return open, nil
	}
	most, words := l.FileLimit(c.chat, "")
	for i, f := range open {
		if most > 0 && f.Size > most {
			terminal.CloseMedia(open)
			return nil, fmt.Errorf("%q (%s) cannot be sent: %s; make it smaller or send it in parts", paths[i],
				channels.HumanSize(f.Size), words)
		}
	}
	return open, nil
}

// Ask asks a question and waits for the answer.
func (c *toolChat) Ask(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
	if _, err := c.g.checkAccess(ctx, c.chat); err != nil {
		return terminal.Answer{}, err
	}
	t, ok := c.g.lanes.RunningTurn(c.chat)
	if !ok {
		return terminal.Answer{}, errNoTurnToAsk
	}
	if err := c.g.rates.messages.allow(c.chat, 1); err != nil {
		return terminal.Answer{}, err
	}
	a, err := t.AskForTool(ctx, q)
	if errors.Is(err, turn.ErrNotRunning) {
		err = errNoTurnToAsk
	}
	return a, err
}

// Progress shows the progress of the agent.
func (c *toolChat) Progress(ctx context.Context, text string) error {
	if _, err := c.g.checkAccess(ctx, c.chat); err != nil {
		return err
	}
	if err := c.g.rates.progress.allow(c.chat, 1); err != nil {
		return err
	}
	err := c.emit(terminal.Frame{Kind: terminal.Progress, Text: terminal.Clean(text)})
	if errors.Is(err, turn.ErrNotRunning) {
		return errNoBoard
	}
	return err
}

// Search returns messages of the chat's conversation that contain all words of a query.
func (c *toolChat) Search(ctx context.Context, query string, limit int) (found []tools.HistoryMessage, err error) {
	if _, err := c.g.checkAccess(ctx, c.chat); err != nil {
		return nil, err
	}
	add := func(e store.Entry) {
		found = append(found, tools.HistoryMessage{Role: e.Role, Text: e.Text, Time: e.Time})
	}
	if strings.TrimSpace(query) == "" {
		entries, err := c.g.o.Store.History(ctx, c.chat, limit, 0)
		for _, e := range slices.Backward(entries[max(len(entries)-limit, 0):]) {
			add(e)
		}
		return found, err
	}
	all, err := c.g.o.Store.Search(ctx, store.SearchFilter{Chat: c.chat, Text: query, Conversation: true, Limit: limit})
	for _, f := range all {
		add(f.Entry)
	}
	return found, err
}

// checkAccess returns the latest message of a person with access in a chat, or errNoAccess.
func (g *Gateway) checkAccess(ctx context.Context, chat channels.Chat) (last int64, err error) {
	last, ok, err := g.access.LastAdmitted(ctx, chat)
	if !ok && err == nil {
		err = errNoAccess
	}
	return last, err
}

// ownerAgent returns the agent that a process belongs to. A process that no agent has started has
// the rights of the chat's chosen agent.
func (g *Gateway) ownerAgent(ctx context.Context, o terminal.Owner) (Agent, error) {
	name := o.Agent
	if name == "" && o.Channel == "" {
		name = store.DefaultAgent
	}
	if name == "" {
		var err error
		if name, err = g.choice.Next(ctx, channels.Chat{Channel: o.Channel, ID: o.ChatID}); err != nil {
			return Agent{}, err
		}
	}
	agent, ok := g.currentSettings().Agents[name]
	if !ok {
		return Agent{}, errNoAgent
	}
	return agent, nil
}
