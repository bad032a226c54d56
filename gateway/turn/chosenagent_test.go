package turn_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// addAgent adds the agent coder to the stage.
func (r *fixture) addAgent(coder turn.Runner) {
	agents := defaultAgentOnly(&r.agent)
	agents["coder"] = turn.AgentSettings{Runner: coder}
	r.Reload(turn.Settings{Agents: agents, OnCrash: turn.ReportCrash})
}

func TestEachAgentRunsItsOwnMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, sayingAgent("I am the default"))
		r.addAgent(&fakeRunner{run: sayingAgent("I am the coder")})
		for _, name := range []string{"coder", "default"} {
			one := r.beginTurnOf(name)
			one.Run(t.Context())
			checkEqual(t, "the agent", one.Agent(), name)
		}
		r.stop()
		checkEqual(t, "posted", r.box.posted, []string{"I am the coder", "I am the default"})
		checkEqual(t, "recorded agents", r.disk.agents, []string{"coder", "default"})
	})
}

func TestTheDefaultAgentRunsATurnWhoseAgentIsGoneAndTheChatIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, sayingAgent("hi"))
		one := r.beginTurnOf("coder")
		one.Run(t.Context())
		r.stop()
		checkEqual(t, "posted", r.box.posted, []string{"The agent coder is no longer available, so default answers from now on.", "hi"})
		checkEqual(t, "the agent", one.Agent(), "default")
		checkEqual(t, "recorded agents", r.disk.agents, []string{"default"})
	})
}

// A turn keeps the agent that it began with, and each runner is closed once.
func TestAReloadReplacesEveryRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		waits := func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			<-release
			return terminal.Outcome{Status: terminal.Done}, chat.Emit(terminal.Frame{Kind: terminal.Message, Text: "from the former coder"})
		}
		r := newFixture(t, sayingAgent("default"))
		former, next := &fakeRunner{run: waits}, &fakeRunner{run: sayingAgent("next")}
		r.addAgent(former)
		one := r.beginTurnOf("coder")
		var ran sync.WaitGroup
		ran.Go(func() { one.Run(t.Context()) })
		synctest.Wait()
		r.addAgent(next)
		synctest.Wait()
		if former.closed || r.agent.closed || next.closed {
			t.Errorf("closed: the former %v, the default %v, the next %v", former.closed, r.agent.closed, next.closed)
		}
		close(release)
		ran.Wait()
		synctest.Wait()
		if !former.closed || r.agent.closed || next.closed {
			t.Errorf("after the turn, closed: the former %v, the default %v, the next %v", former.closed, r.agent.closed, next.closed)
		}
		r.Reload(turn.Settings{Agents: defaultAgentOnly(&r.agent)})
		synctest.Wait()
		if !next.closed || r.agent.closed {
			t.Errorf("without the agent, closed: the next %v, the default %v", next.closed, r.agent.closed)
		}
		r.stop()
		checkEqual(t, "posted", r.box.posted, []string{"from the former coder"})
	})
}

func TestEveryAgentHasMemoriesOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loaded []string
		saves := func(ctx context.Context, req terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			now, _ := chat.Memory().Load(ctx)
			lasting, _ := chat.Memory().LoadLasting(ctx)
			loaded = append(loaded, now+"/"+lasting)
			_ = chat.Memory().Save(ctx, "s"+req.Text)
			_ = chat.Memory().SaveLasting(ctx, "l"+req.Text)
			chat.Report(terminal.AgentInfo{Line: "line of " + req.Text})
			return terminal.Outcome{Status: terminal.Done}, nil
		}
		r := newFixture(t, saves)
		r.addAgent(&fakeRunner{run: saves})
		r.disk.memory = map[string]string{"ann/agent": "earlier", "ann/lasting:agent": "earliest"} // of a state with one agent
		for _, name := range []string{"default", "coder", "default", "coder"} {
			r.beginTurnOf(name).Run(t.Context())
			synctest.Wait()
		}
		checkEqual(t, "loaded", loaded, []string{"earlier/earliest", "/", "shello/lhello", "shello/lhello"})
		for _, name := range []string{"default", "coder"} {
			if about, err := r.StoredAgentInfo(t.Context(), ann, name); about.Line != "line of hello" || err != nil {
				t.Errorf("%s told %+v, %v", name, about, err)
			}
		}
		checkEqual(t, "keys", len(r.disk.memory), 6)
		r.stop()
	})
}

// menuChannel is a channel with a menu for each chat.
type menuChannel struct {
	fakeChannel
	shown *[]string
}

func (m menuChannel) SetChatMenu(_ context.Context, chat channels.Chat, commands []channels.Command) error {
	line := chat.ID + ":"
	for _, c := range commands {
		line += " " + c.Name
	}
	*m.shown = append(*m.shown, line)
	return nil
}

func TestTheMenuOfAChatShowsTheCommandsOfTheChosenAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		has := func(command string) func(context.Context, terminal.Request, terminal.Chat) (terminal.Outcome, error) {
			return func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
				chat.Report(terminal.AgentInfo{Commands: []terminal.Command{{Name: command}}})
				return terminal.Outcome{Status: terminal.Done}, nil
			}
		}
		r := newFixture(t, has("plan"))
		var shown []string
		r.channels["net"] = menuChannel{shown: &shown}
		r.addAgent(&fakeRunner{run: has("review")})
		r.beginTurn().Run(t.Context())
		synctest.Wait()
		r.beginTurnOf("coder").Run(t.Context()) // which does not answer next
		synctest.Wait()
		checkEqual(t, "menus", shown, []string{"ann: plan"})
		r.chosen = "coder"
		r.AgentChanged(ann, "coder")
		synctest.Wait()
		checkEqual(t, "menus", shown, []string{"ann: plan", "ann: review"})
		r.stop()
	})
}

func TestTheOutcomeOfATurnNamesItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		r := newFixtureWith(t, sayingAgent("hi"), func(o *turn.Options) {
			o.Events = func(e events.Event) {
				if e.Type == events.Ended {
					ended = append(ended, e.Agent)
				}
			}
		})
		r.addAgent(&fakeRunner{run: sayingAgent("hi")})
		r.beginTurnOf("coder").Run(t.Context())
		r.beginTurn().Run(t.Context())
		r.stop()
		checkEqual(t, "agents", ended, []string{"coder", "default"})
	})
}

func TestTheSessionsOfAllAgentsAreRecordedForAllChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known []bool
		record := func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			of, err := chat.Memory().IsChatSession(ctx, "sess_1")
			known = append(known, of)
			return terminal.Outcome{Status: terminal.Done}, errors.Join(err, chat.Memory().AddChatSession(ctx, "sess_1"))
		}
		r := newFixture(t, record)
		r.addAgent(&fakeRunner{run: record})
		for _, name := range []string{"default", "coder"} {
			r.beginTurnOf(name).Run(t.Context())
			synctest.Wait()
		}
		checkEqual(t, "known", known, []bool{false, true})
		checkEqual(t, "memory of the gateway", r.disk.memory["/session:sess_1"], "1")
		r.stop()
	})
}
