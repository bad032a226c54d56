package turn

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/shown"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// callbacks are the functions by which a running agent reaches its turn.
type callbacks struct {
	emit func(terminal.Frame) error
	say  func(channels.Message) error
	ask  terminal.Ask
	end  func() // the turn's time is up
}

// attempt runs the agent, if it can be started. A panic is this turn's failure and nobody else's.
func (t *Turn) attempt(ctx context.Context, calls callbacks) (out terminal.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if t.executor != nil {
		return t.executor.Execute(ctx, &Execution{Inbound: t.inbound, turn: t, calls: calls})
	}
	if read, err := t.readBefore(ctx); read || err != nil {
		return terminal.Outcome{Status: terminal.Done}, err
	}
	t.recordProcess(terminal.RecordStarting())
	return t.prompt(ctx, Request(t.inbound.In, strconv.FormatInt(t.inbound.ID, 10)), calls)
}

// prompt has the agent work on a request.
func (t *Turn) prompt(ctx context.Context, req terminal.Request, calls callbacks) (out terminal.Outcome, err error) {
	defer t.stage.waits.remove(t) // also if the protocol has panicked
	req.Attempt, req.Token = t.inbound.Attempt, t.inbound.Token
	req.OnLaunch, req.RunName, req.GatewayName = t.launched, runName(t.inbound), t.stage.name
	req.Memory, req.OnAgentInfo = t.memory, t.about.update
	req.Ask, req.AwaitPerson = calls.ask, t.awaitPerson
	req.OnLog, req.OnClockStart = t.logged, t.tools.setClock
	req.PersonTexts, req.OnCancel = t.inject.written, calls.end
	if req.Task == "" { // else more tasks may follow
		req.OnExit = t.slot.AgentExited
	}
	if t.inject.lines != nil {
		req.Injections = t.inject.lines
	}
	if t.set.PassHistory > 0 {
		if req.History, err = t.history(ctx); err != nil {
			return out, err
		}
	}
	return t.set.Runner.Turn(ctx, req, calls.emit)
}

func (t *Turn) history(ctx context.Context) ([]terminal.HistoryEntry, error) {
	// A turn that is stopped while this is read is stopped by the runner, which says so.
	entries, err := t.stage.o.Store.History(context.WithoutCancel(ctx), t.inbound.In.Chat, t.set.PassHistory, t.inbound.ID)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var out []terminal.HistoryEntry
	for _, e := range entries {
		out = append(out, terminal.HistoryEntry{Role: e.Role, Text: e.Text, Media: e.Media, Time: e.Time})
	}
	return out, nil
}

// launched records the agent's process.
func (t *Turn) launched(pid int) {
	t.failures = t.stage.shortage.count()
	t.pid.Store(int64(pid))
	t.recordProcess(terminal.RecordProcess(pid))
	if t.short.Load() {
		t.transient.show(board{text: "Working…"})
	}
}

// recordProcess stores the agent's process, so that a later gateway can kill what this one leaves
// behind: when we die the kernel kills only the agent itself, and not what it started. A process
// that is about to start is recorded too: a turn without any had not begun.
func (t *Turn) recordProcess(p terminal.ProcessRecord) {
	if err := t.stage.o.Store.SetProcess(t.inbound.ID, store.Process(p)); err != nil {
		t.log.Warn("agent's process not noted", zap.Error(err))
	}
}

// Request is what the runner is told of a message.
func Request(in channels.Incoming, run string) terminal.Request {
	req := terminal.Request{
		Channel: in.Chat.Channel, ChatID: in.Chat.ID, Text: in.Text, Media: in.Media,
		MessageID: in.ID, ThreadID: in.ThreadID, RunID: run, Attempt: 1,
	}
	if in.User != (channels.User{}) {
		req.User = (*terminal.User)(&in.User)
	}
	if in.ReplyTo != nil {
		req.ReplyTo = (*terminal.Quote)(in.ReplyTo)
	}
	return req
}

// Message turns a frame into what the user reads.
func Message(f terminal.Frame) channels.Message {
	m := channels.Message{
		Kind: channels.Answer, Text: f.Text, Code: f.Code, Screen: shown.Screen(f.Screen), Buttons: shown.Buttons(f.Buttons),
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
	for _, file := range f.Checked {
		m.Media = append(m.Media, channels.File{
			Path: file.Path, Name: filepath.Base(file.Path), Size: file.Size, Kind: channels.KindOf(file.Path), Open: file.Open,
		})
	}
	return m
}
