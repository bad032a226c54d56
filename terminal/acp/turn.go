package acp

import (
	"context"
	"encoding/json"
	"errors"

	"nanobot/terminal"
)

const newNote = "The earlier conversation could not be resumed; this is a new one."

// turn is one message being worked on.
type turn struct {
	*Protocol
	t    terminal.Turn
	kept *terminal.PoolEntry[*agent] // of the chat
	a    *agent
	s    *session
	r    *running // nil: the session does not work on it yet
}

// run gets the chat's agent and session ready and lets them do what the message says.
func (x *turn) run(ctx context.Context) (terminal.Outcome, error) {
	known, err := x.remembered(ctx, x.t.Memory)
	if err != nil {
		return x.end(ctx, "", err)
	}
	if err := x.wake(ctx); err != nil {
		return x.end(ctx, "", err)
	}
	lost, err := x.converse(ctx, known)
	if known != "" && ctx.Err() == nil && (errors.Is(err, errGone) || errors.Is(err, errSilent)) {
		lost, err = x.afresh(ctx, err)
	}
	if err != nil {
		x.a.spoiled = true
		return x.end(ctx, "", err)
	}
	x.r = x.s.begin(ctx, x.t)
	if lost {
		x.note(newNote)
	}
	if said, done, err := x.command(ctx); done {
		return x.say(ctx, said, err)
	}
	var reason string
	err = x.a.signedIn(ctx, x.r.begun.Load, func() (err error) {
		reason, err = x.prompt(ctx)
		return err
	})
	return x.end(ctx, reason, err)
}

// finish takes the turn off the agent.
func (x *turn) finish() {
	if x.a != nil {
		x.a.logTo(nil)
	}
}

// wake makes sure that the chat has an agent that can be talked with.
func (x *turn) wake(ctx context.Context) error {
	if a, ok := x.kept.Process(); ok && !a.isGone() {
		x.a = a
		x.a.logTo(x.t.Emit)
		x.t.AttachProcess(a.Pid())
		return nil
	} else if ok {
		a.Close()
		x.kept.RemoveProcess()
	}
	if err := x.t.Emit(terminal.Frame{Kind: terminal.Progress, Text: "Starting the agent…"}); err != nil {
		return err
	}
	child, err := x.t.LaunchPersistent(terminal.PersistentOptions{})
	if err != nil {
		return err
	}
	pool, chat, cfg := x.Kept, x.t.Envelope.SessionKey, *x.set
	cfg.Files = cfg.Files && x.t.ExecEnv.User == nil // another user has not our rights
	x.a = talk(child, cfg, x.Waits, x.t.MaxLine, func(a *agent) { pool.Died(chat, a) })
	x.a.logTo(x.t.Emit)
	x.kept.SetProcess(x.a)
	if err := x.a.initialize(ctx); err != nil {
		x.a.spoiled = true
		if x.a.isGone() {
			x.a.Close()
			if short := x.a.ended.Shortage(); short != nil {
				return short
			}
		}
		return err
	}
	return nil
}

// afresh begins a new conversation with a new agent, after one that did not survive the earlier
// conversation, or hung over it.
func (x *turn) afresh(ctx context.Context, why error) (lost bool, err error) {
	x.a.log("warning", "the earlier conversation could not be resumed: "+why.Error())
	x.a.logTo(nil)
	x.a.spoiled = true
	x.a.Close()
	x.kept.RemoveProcess()
	if err := x.wake(ctx); err != nil {
		return false, err
	}
	if _, err := x.converse(ctx, ""); err != nil {
		return false, err
	}
	return true, nil
}

// converse makes sure that the agent has the chat's session. lost says that there was one which is
// a new one now.
func (x *turn) converse(ctx context.Context, known string) (lost bool, err error) {
	old := x.a.current()
	if old != nil && (old.id == known || known == "" && !old.saved) {
		x.s = old
		return false, nil
	}
	x.s = newSession(x.a, x.t.ExecEnv)
	x.a.turnTo(x.s)
	if old != nil {
		x.a.leave(ctx, old)
	}
	if known != "" {
		err := errLost
		if !x.hasSession(known, x.t.Envelope.SessionKey) {
			err = x.a.restore(ctx, x.s, known)
		}
		if err == nil {
			err = x.had(ctx, known)
		}
		if !errors.Is(err, errLost) {
			x.s.saved = true
			return false, err
		}
	}
	if err := x.a.create(ctx, x.s); err != nil {
		return false, err
	}
	x.s.saved, err = x.remember(ctx, x.s.id)
	return known != "", err
}

// note says something of our own at the beginning of what the agent says.
func (x *turn) note(text string) {
	_ = x.t.Emit(terminal.Frame{Kind: terminal.Progress, Text: text}) // it is said once more
	raw, err := json.Marshal(map[string]any{
		"sessionUpdate": "agent_message_chunk", "content": map[string]string{"type": "text", "text": text + "\n\n"},
	})
	if err == nil {
		x.r.view.update(raw)
	}
}

// prompt carries the message to the agent and returns why it stopped working on it.
func (x *turn) prompt(ctx context.Context) (reason string, err error) {
	can := x.a.hello.Can.Prompt
	blocks := promptBlocks(x.t.Envelope, promptCapabilities{Image: bool(can.Image), Audio: bool(can.Audio), EmbeddedContext: bool(can.Embedded)})
	tooLate := false // the turn was to stop before the answer came
	k, err := x.a.begin(ctx, "session/prompt", map[string]any{"sessionId": x.s.id, "prompt": blocks}, func(_ json.RawMessage, err error) {
		tooLate = ctx.Err() != nil
		if !x.a.signsIn(err, x.r.begun.Load()) {
			x.s.answered() // what comes later is for the next turn
		}
	})
	if err != nil {
		return "", err
	}
	select {
	case <-k.done:
	case <-ctx.Done():
		if stopped, inTime := x.stop(k); stopped {
			x.a.spoiled = !inTime
			return "", context.Cause(ctx)
		}
	}
	if tooLate {
		x.s.table.KillAll()
		return "", context.Cause(ctx)
	}
	if k.err != nil {
		return "", k.err
	}
	var got struct {
		Reason string `json:"stopReason"`
	}
	_ = decode(k.result, &got) // an answer that says nothing is an end
	return got.Reason, nil
}

// stop asks the agent to stop, unless it has just answered, and says whether it did in time. Open
// questions have been cancelled with the turn.
func (x *turn) stop(k *call) (stopped, inTime bool) {
	select {
	case <-k.done:
		return false, true
	default:
	}
	x.s.table.KillAll()
	late, cancel := context.WithTimeout(context.Background(), x.Patience)
	defer cancel()
	_ = x.a.notify(late, "session/cancel", map[string]string{"sessionId": x.s.id})
	select {
	case <-k.done:
		return true, true
	case <-late.Done():
		return true, false
	}
}
