package acp

import (
	"context"
	"errors"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/warm"
)

// turn is the processing of one message.
type turn struct {
	*Protocol
	t      terminal.Turn
	memory sessionMemory       // of the chat
	entry  *warm.Entry[*agent] // the chat's entry in the pool
	a      *agent
	s      *session
	r      *activeTurn // nil until the session works on the turn
	// unread is how many of the received injections the agent has not read.
	unread int
	// notices are shown before the agent's output.
	notices []string
}

// run prepares the chat's agent and session, and processes the message.
func (x *turn) run(ctx context.Context) (terminal.Outcome, error) {
	known, err := x.memory.current(ctx)
	if err != nil {
		return x.endTurn(ctx, "", err)
	}
	if err := x.ensureAgent(ctx); err != nil {
		return x.endTurn(ctx, "", err)
	}
	lost, err := x.ensureSession(ctx, known)
	if known != "" && ctx.Err() == nil && (errors.Is(err, rpc.ErrGone) || errors.Is(err, errNotReady)) {
		lost, err = x.restartAgent(ctx, err)
	}
	if err != nil {
		x.a.unusable = true
		return x.endTurn(ctx, "", err)
	}
	x.r = x.s.startTurn(ctx, x.t)
	if lost {
		x.r.view.AddNotice(x.t.Words.Text(words.ConversationLost))
	}
	for _, notice := range x.notices {
		x.r.view.AddNotice(notice)
	}
	if said, done, err := x.runCommand(ctx); done {
		return x.endWithText(ctx, said, err)
	}
	var reason string
	err = x.a.login().Do(ctx, x.r.started.Load, func() (err error) {
		reason, err = x.prompt(ctx)
		return err
	})
	if err == nil {
		x.s.lastError = ""
	}
	return x.endTurn(ctx, reason, err)
}

// detachAgent stores the state of the session and stops the agent's log output to the turn.
func (x *turn) detachAgent(ctx context.Context) {
	if x.a == nil {
		return
	}
	if s := x.a.currentSession(); x.r != nil && s.state().isWorthStoring() {
		if err := x.storeState(ctx, s); err != nil {
			x.a.Log("warning", err.Error()) // the next turn tries again
		}
	}
	x.a.setLogOutput(nil)
}

// ensureAgent starts the chat's agent unless it is running.
func (x *turn) ensureAgent(ctx context.Context) error {
	if a, ok := x.entry.Process(); ok && !a.IsGone() {
		x.a = a
		x.a.setLogOutput(x.t.Emit)
		x.t.Report(terminal.Launched(a.Pid()))
		return nil
	} else if ok {
		a.Close()
		x.entry.RemoveProcess()
	}
	if err := x.t.Emit(terminal.Frame{
		Kind: terminal.Progress, Text: x.t.Words.Text(words.AgentStarting),
		Board: true,
	}); err != nil {
		return err
	}
	child, err := x.t.LaunchPersistent(terminal.PersistentOptions{})
	if err != nil {
		return err
	}
	pool, chat, cfg := x.Agents, x.t.Envelope.SessionKey, *x.settings
	cfg.Files = cfg.Files && x.t.ExecEnv().User == nil // another user's agent must not use the gateway's file permissions
	x.a = newAgent(child, cfg, x.Timeouts, x.t.MaxLine, func(a *agent) { pool.ReportDeath(chat, a) })
	x.a.touch = func() { pool.Touch(chat) }
	x.a.setLogOutput(x.t.Emit)
	x.entry.SetProcess(x.a)
	err = x.a.initialize(ctx)
	x.lastInit.Store(&x.a.initResponse)
	if err != nil {
		x.a.unusable = true
		if x.a.IsGone() {
			x.a.Close()
			if short := x.a.exit.Shortage(); short != nil {
				return short
			}
		}
		return err
	}
	return nil
}

// restartAgent starts a new agent and session after the agent crashed or hung while it restored the
// earlier session.
func (x *turn) restartAgent(ctx context.Context, why error) (lost bool, err error) {
	x.a.Log("warning", "the earlier conversation could not be resumed: "+why.Error())
	x.a.setLogOutput(nil)
	x.a.unusable = true
	x.a.Close()
	x.entry.RemoveProcess()
	if err := x.ensureAgent(ctx); err != nil {
		return false, err
	}
	if _, err := x.ensureSession(ctx, ""); err != nil {
		return false, err
	}
	return true, nil
}

// ensureSession opens the chat's session in the agent. lost reports that the earlier session was
// replaced by a new one.
func (x *turn) ensureSession(ctx context.Context, known string) (lost bool, err error) {
	old := x.a.currentSession()
	if old != nil && (old.id == known || known == "" && !old.idStored) {
		x.s = old
		return false, nil
	}
	x.s = newSession(x.a, x.t.ExecEnv())
	x.a.setSession(x.s)
	defer x.s.askWhileOpening(ctx, x.t)()
	if old != nil {
		x.a.closeSession(ctx, old)
	}
	if known != "" {
		err := errNotRestorable
		if !x.isOpenInAnotherChat(known, x.t.Envelope.SessionKey) {
			err = x.a.restoreSession(ctx, x.s, known)
		}
		if err == nil {
			err = x.continueSession(ctx, x.s)
		}
		if !errors.Is(err, errNotRestorable) {
			x.s.idStored = true
			return false, err
		}
	}
	newest, err := x.memory.loadState(ctx, "")
	if err != nil {
		return false, err
	}
	x.s.chosen = newest.Chosen
	if err := x.a.createSession(ctx, x.s); err != nil {
		return false, err
	}
	if x.s.idStored, err = x.memory.setCurrent(ctx, x.s.id, x.s.state()); err == nil {
		err = x.restoreChosen(ctx, x.s)
	}
	return known != "", err
}
