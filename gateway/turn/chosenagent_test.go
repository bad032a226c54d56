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
func (fx *fixture) addAgent(coder turn.Runner) {
	agents := defaultAgentOnly(&fx.agent)
	agents["coder"] = turn.AgentSettings{Runner: coder}
	fx.Reload(turn.Settings{Agents: agents, OnCrash: turn.ReportCrash})
}

func TestEachAgentRunsItsOwnMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, sayingAgent("I am the default"))
		fx.addAgent(&fakeRunner{run: sayingAgent("I am the coder")})
		for _, name := range []string{"coder", "default"} {
			one := fx.beginTurnOf(name)
			one.Run(t.Context())
			checkEqual(t, "the agent", one.Agent(), name)
		}
		fx.stop()
		checkEqual(t, "posted", fx.box.posted, []string{"I am the coder", "I am the default"})
		checkEqual(t, "recorded agents", fx.disk.agents, []string{"coder", "default"})
	})
}

func TestTheDefaultAgentRunsATurnWhoseAgentIsGoneAndTheChatIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, sayingAgent("hi"))
		one := fx.beginTurnOf("coder")
		one.Run(t.Context())
		fx.stop()
		checkEqual(t, "posted", fx.box.posted, []string{"The agent coder is no longer available, so default answers from now on.", "hi"})
		checkEqual(t, "the agent", one.Agent(), "default")
		checkEqual(t, "recorded agents", fx.disk.agents, []string{"default"})
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
		fx := newFixture(t, sayingAgent("default"))
		former, next := &fakeRunner{run: waits}, &fakeRunner{run: sayingAgent("next")}
		fx.addAgent(former)
		one := fx.beginTurnOf("coder")
		var ran sync.WaitGroup
		ran.Go(func() { one.Run(t.Context()) })
		synctest.Wait()
		fx.addAgent(next)
		synctest.Wait()
		if former.closed || fx.agent.closed || next.closed {
			t.Errorf("closed: the former %v, the default %v, the next %v", former.closed, fx.agent.closed, next.closed)
		}
		close(release)
		ran.Wait()
		synctest.Wait()
		if !former.closed || fx.agent.closed || next.closed {
			t.Errorf("after the turn, closed: the former %v, the default %v, the next %v", former.closed, fx.agent.closed, next.closed)
		}
		fx.Reload(turn.Settings{Agents: defaultAgentOnly(&fx.agent)})
		synctest.Wait()
		if !next.closed || fx.agent.closed {
			t.Errorf("without the agent, closed: the next %v, the default %v", next.closed, fx.agent.closed)
		}
		fx.stop()
		checkEqual(t, "posted", fx.box.posted, []string{"from the former coder"})
	})
}

func TestEveryAgentHasMemoriesOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loaded []string
		saves := func(ctx context.Context, req terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			now, _ := chat.Memory().Load(ctx, terminal.ConversationMemory)
			lasting, _ := chat.Memory().Load(ctx, terminal.LastingMemory)
			loaded = append(loaded, now+"/"+lasting)
			_ = chat.Memory().Save(ctx, terminal.ConversationMemory, "s"+req.Text)
			_ = chat.Memory().Save(ctx, terminal.LastingMemory, "l"+req.Text)
			chat.Report(terminal.AgentInfo{Line: "line of " + req.Text})
			return terminal.Outcome{Status: terminal.Done}, nil
		}
		fx := newFixture(t, saves)
		fx.addAgent(&fakeRunner{run: saves})
		fx.disk.memory = map[string]string{"ann/agent": "earlier", "ann/lasting:agent": "earliest"} // of a state with one agent
		for _, name := range []string{"default", "coder", "default", "coder"} {
			fx.beginTurnOf(name).Run(t.Context())
			synctest.Wait()
		}
		checkEqual(t, "loaded", loaded, []string{"earlier/earliest", "/", "shello/lhello", "shello/lhello"})
		for _, name := range []string{"default", "coder"} {
			if about, err := fx.StoredAgentInfo(t.Context(), ann, name); about.Line != "line of hello" || err != nil {
				t.Errorf("%s told %+v, %v", name, about, err)
			}
		}
		checkEqual(t, "keys", len(fx.disk.memory), 6)
		fx.stop()
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
		fx := newFixture(t, has("plan"))
		var shown []string
		fx.channels["net"] = menuChannel{shown: &shown}
		fx.addAgent(&fakeRunner{run: has("review")})
		fx.beginTurn().Run(t.Context())
		synctest.Wait()
		fx.beginTurnOf("coder").Run(t.Context()) // which does not answer next
		synctest.Wait()
		checkEqual(t, "menus", shown, []string{"ann: plan"})
		fx.chosen = "coder"
		fx.AgentChanged(ann, "coder")
		synctest.Wait()
		checkEqual(t, "menus", shown, []string{"ann: plan", "ann: review"})
		fx.stop()
	})
}

func TestTheOutcomeOfATurnNamesItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		fx := newFixtureWith(t, sayingAgent("hi"), func(o *turn.Options) {
			o.Events = func(e events.Event) {
				if e.Type == events.Ended {
					ended = append(ended, e.Agent)
				}
			}
		})
		fx.addAgent(&fakeRunner{run: sayingAgent("hi")})
		fx.beginTurnOf("coder").Run(t.Context())
		fx.beginTurn().Run(t.Context())
		fx.stop()
		checkEqual(t, "agents", ended, []string{"coder", "default"})
	})
}

func TestTheSessionsOfAllAgentsAreRecordedForAllChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known []bool
		record := func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			of, err := chat.Memory().Load(ctx, terminal.SessionMemory("sess_1"))
			known = append(known, of != "")
			return terminal.Outcome{Status: terminal.Done}, errors.Join(err, chat.Memory().Save(ctx, terminal.SessionMemory("sess_1"), "1"))
		}
		fx := newFixture(t, record)
		fx.addAgent(&fakeRunner{run: record})
		for _, name := range []string{"default", "coder"} {
			fx.beginTurnOf(name).Run(t.Context())
			synctest.Wait()
		}
		checkEqual(t, "known", known, []bool{false, true})
		checkEqual(t, "memory of the gateway", fx.disk.memory["/session:sess_1"], "1")
		fx.stop()
	})
}
