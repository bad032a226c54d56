package turn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

func TestTheMessageOfATurnShowsThatItIsWorkedOnAndHowThatEnded(t *testing.T) {
	for name, c := range map[string]struct {
		out  terminal.Outcome
		err  error
		want string
	}{
		"done":          {out: terminal.Outcome{Status: terminal.Done}, want: "[m1 taken m1 done]"},
		"failed":        {out: terminal.Outcome{Status: terminal.Failed}, want: "[m1 taken m1 failed]"},
		"timed out":     {out: terminal.Outcome{Status: terminal.TimedOut}, want: "[m1 taken m1 failed]"},
		"cannot be run": {err: errors.New("no such file"), want: "[m1 taken m1 failed]"},
		"stopped":       {out: terminal.Outcome{Status: terminal.Stopped}, want: "[m1 taken m1 ]"},
		"refused":       {out: terminal.Outcome{Status: terminal.Refused}, want: "[m1 taken m1 ]"},
		"silent":        {out: terminal.Outcome{Status: terminal.Silent}, want: "[m1 taken m1 ]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(t, func(context.Context, terminal.Request, terminal.Chat) (terminal.Outcome, error) {
					return c.out, c.err
				})
				fx.beginTurn().Run(t.Context())
				fx.stop()
				checkEqual(t, "reactions", fx.box.reactions, c.want)
			})
		})
	}
}

func TestAnOldMessageAndAButtonGetFewerReactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, sayingAgent("hi"))
		now := time.Now()
		old := store.Inbound{ID: 7, In: channels.Incoming{Chat: ann, ID: "m1"}, Received: now.Add(-11 * time.Minute), Started: now}
		fx.NewTurn(old, &fx.slot).Run(t.Context())
		checkEqual(t, "reactions to an old message", fx.box.reactions, "[m1 done]")
		press := store.Inbound{ID: 8, In: channels.Incoming{Chat: ann, ID: "p1", Press: "again:1"}, Received: now, Started: now}
		fx.NewTurn(press, &fx.slot).Run(t.Context())
		fx.stop()
		checkEqual(t, "reactions after a press", fx.box.reactions, "[m1 done]")
	})
}

func TestATurnThatAShutdownCutsOffKeepsItsReactionAndARecoveredOneHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, func(ctx context.Context, _ terminal.Request, _ terminal.Chat) (terminal.Outcome, error) {
			<-ctx.Done()
			return terminal.Outcome{Status: terminal.Stopped}, nil
		})
		ctx, kill := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, kill)
		fx.beginTurn().Run(ctx)
		checkEqual(t, "reactions", fx.box.reactions, "[m1 taken]")
		adopted := []store.Inbound{{ID: 7, Attempt: 1, In: channels.Incoming{Chat: ann, ID: "m1"}, Process: store.Process(process.NewStartingRecord())}}
		fx.Reload(turn.Settings{Agents: defaultAgentOnly(&fx.agent), OnCrash: turn.ReportCrash})
		musttest.Do(t, fx.Recover(t.Context(), store.Adopted{Inbounds: adopted}))
		fx.stop()
		checkEqual(t, "reactions after the restart", fx.box.reactions, "[m1 taken m1 failed]")
	})
}

func TestAMessageWhoseTurnWasStoppedOrRevokedBeforeACrashHasNoReaction(t *testing.T) {
	fx := newFixture(t, sayingAgent("hi"))
	defer fx.stop()
	started := store.Process(process.NewStartingRecord())
	adopted := []store.Inbound{
		{ID: 7, Attempt: 1, In: channels.Incoming{Chat: ann, ID: "m7"}, Process: started, Outcome: store.Outcome{Status: string(terminal.Stopped)}},
		{ID: 8, Attempt: 1, In: channels.Incoming{Chat: ann, ID: "m8"}, Process: started, Outcome: store.Outcome{Status: store.Revoked}},
		{ID: 9, Attempt: 1, In: channels.Incoming{Chat: ann, ID: "p9", Press: "again:1"}, Process: started},
	}
	musttest.Do(t, fx.Recover(t.Context(), store.Adopted{Inbounds: adopted}))
	checkEqual(t, "reactions", fx.box.reactions, "[m7  m8 ]")
}
