package turn

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strconv"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/display"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// runOnce runs the agent once. A panic fails this turn only.
func (t *Turn) runOnce(ctx context.Context, chat *chat) (out terminal.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if t.executor != nil {
		t.usage.begun.Store(true)
		return t.executor.Execute(ctx, &Execution{Inbound: t.inbound, turn: t, chat: chat})
	}
	if read, err := t.alreadyRead(ctx); read || err != nil {
		return terminal.Outcome{Status: terminal.Done}, err
	}
	t.recordProcess(process.NewStartingRecord())
	in := t.inbound.In
	in.Text = cmp.Or(t.secret, in.Text)
	return t.promptAgent(ctx, RequestFor(in, strconv.FormatInt(t.inbound.ID, 10)), chat)
}

// promptAgent has the agent work on a request.
func (t *Turn) promptAgent(ctx context.Context, req terminal.Request, chat terminal.Chat) (
	out terminal.Outcome, err error,
) {
	defer t.stage.personWaits.remove(t.people) // deferred for the case that the protocol panics
	req.Attempt, req.Token, req.Words = t.inbound.Attempt, t.inbound.Token, t.words
	req.RunName, req.GatewayName = RunName(t.inbound), t.stage.name
	// The runner reports a turn that is stopped during these queries.
	queries := context.WithoutCancel(ctx)
	req.ConversationID = t.inbound.Conversation
	if req.Text, err = t.restoreCommand(queries, req.Text); err != nil {
		return out, err
	}
	if t.settings.PassHistory > 0 {
		if req.History, err = t.history(queries); err != nil {
			return out, err
		}
	}
	return t.settings.Runner.Turn(ctx, req, chat)
}

func (t *Turn) history(ctx context.Context) ([]terminal.HistoryEntry, error) {
	entries, err := t.stage.o.Store.History(ctx, t.inbound.In.Chat, t.settings.PassHistory, t.inbound.ID)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var out []terminal.HistoryEntry
	for _, e := range entries {
		out = append(out, terminal.HistoryEntry{Role: e.Role, Text: e.Text, Media: e.Media, Time: e.Time})
	}
	return out, nil
}

// agentLaunched records the process of the agent.
func (t *Turn) agentLaunched(pid int) {
	t.usage.begun.Store(true)
	t.failures = t.stage.shortage.failureCount()
	t.pid.Store(int64(pid))
	t.recordProcess(process.NewRecord(pid))
	if t.lacksResources.Swap(false) {
		t.display.Refresh()
	}
	if t.shortageReported.Load() {
		t.display.ShowProgress(display.Content{Text: t.words.Text(words.Working)})
	}
}

// recordProcess stores the agent's process, so that the next run of the gateway can kill its
// descendants: when the gateway dies, the kernel kills only the agent itself. A process that is
// about to start is recorded, too, since a turn without a process record counts as not started.
func (t *facts) recordProcess(p process.Record) {
	if err := t.stage.o.Store.SetProcess(t.inbound.ID, store.Process(p)); err != nil && !t.isFenced(err) {
		t.log.Warn("agent's process not recorded", zap.Error(err))
	}
}

// RequestFor returns the request that the runner gets for a message.
func RequestFor(in channels.Incoming, run string) terminal.Request {
	req := terminal.Request{Envelope: terminal.Envelope{
		Channel: in.Chat.Channel, ChatID: in.Chat.ID, Text: in.Text, Media: in.Media,
		MediaNames: in.MediaNames, MessageID: in.ID, ThreadID: in.ThreadID, Group: in.Group,
		Origin: in.Origin.String(), RunID: run, Attempt: 1,
	}}
	req.FittingSize, req.Place = in.FittingSize, terminal.Place{Workspace: in.Workspace, Worktree: in.Worktree}
	if in.User != (channels.User{}) {
		req.User = (*terminal.User)(&in.User)
	}
	if q := in.ReplyTo; q != nil {
		req.ReplyTo = &terminal.Quote{
			ID: q.ID, Text: q.Text, Media: q.Media, User: (*terminal.User)(q.User),
			Chat: (*terminal.SourceChat)(q.Chat),
		}
	}
	if f := in.Forwarded; f != nil {
		req.Forwarded = &terminal.Forwarded{
			From: (*terminal.User)(f.From), Chat: (*terminal.SourceChat)(f.Chat), Date: f.Date,
			Comment: in.Comment(),
		}
	}
	return req
}

// FrameMessage returns the chat message for a frame.
func FrameMessage(f terminal.Frame) channels.Message {
	m := channels.Message{
		Kind: channels.Answer, Text: f.Text, Format: channels.Format(f.Format), Code: f.Code,
		Screen: display.Screen(f.Screen), Live: f.Live, Buttons: display.Buttons(f.Buttons),
		GroupDocuments: f.GroupDocuments,
	}
	switch f.Kind {
	case terminal.Progress:
		if m.Kind = channels.Progress; m.Screen == nil {
			m.Text = "⏳ " + f.Text
		}
	case terminal.Error:
		m.Kind = channels.Failure
	case terminal.Message, terminal.Partial, terminal.Log:
	}
	if f.Heard != nil {
		m.Text = heardText(f.Heard)
	}
	for _, file := range f.Checked {
		m.Media = append(m.Media, channels.File{
			Path: file.Path, Name: f.NameOf(file), Size: file.Size, Kind: channels.KindOf(file.Path), Open: file.Open,
		})
	}
	return m
}
