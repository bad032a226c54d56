package turn_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// twoAgents has the stage run the agent coder beside the default one.
func (r *rig) twoAgents(coder turn.Runner) {
	agents := only(&r.agent)
	agents["coder"] = turn.AgentSettings{Runner: coder}
	r.Reload(turn.Settings{Agents: agents, OnCrash: turn.ReportCrash})
}

func TestEachAgentRunsItsOwnMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, says("I am the default"))
		r.twoAgents(&agent{run: says("I am the coder")})
		for _, name := range []string{"coder", "default"} {
			one := r.beginAs(name)
			one.Run(t.Context())
			expect(t, "the agent", one.Agent(), name)
		}
		r.stop()
		expect(t, "posted", r.box.posted, []string{"I am the coder", "I am the default"})
		expect(t, "recorded agents", r.disk.agents, []string{"coder", "default"})
	})
}

func TestTheDefaultAgentRunsATurnWhoseAgentIsGoneAndTheChatIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, says("hi"))
		one := r.beginAs("coder")
		one.Run(t.Context())
		r.stop()
		expect(t, "posted", r.box.posted, []string{"The agent coder is no longer available, so default answers from now on.", "hi"})
		expect(t, "the agent", one.Agent(), "default")
		expect(t, "recorded agents", r.disk.agents, []string{"default"})
	})
}

// A turn keeps the agent that it began with, and each runner is closed once.
func TestAReloadReplacesEveryRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		waits := func(_ context.Context, _ terminal.Request, emit func(terminal.Frame) error) (terminal.Outcome, error) {
			<-release
			return terminal.Outcome{Status: terminal.Done}, emit(terminal.Frame{Kind: terminal.Message, Text: "from the former coder"})
		}
		r := newRig(t, says("default"))
		former, next := &agent{run: waits}, &agent{run: says("next")}
		r.twoAgents(former)
		one := r.beginAs("coder")
		var ran sync.WaitGroup
		ran.Go(func() { one.Run(t.Context()) })
		synctest.Wait()
		r.twoAgents(next)
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
		r.Reload(turn.Settings{Agents: only(&r.agent)})
		synctest.Wait()
		if !next.closed || r.agent.closed {
			t.Errorf("without the agent, closed: the next %v, the default %v", next.closed, r.agent.closed)
		}
		r.stop()
		expect(t, "posted", r.box.posted, []string{"from the former coder"})
	})
}

func TestEveryAgentHasMemoriesOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loaded []string
		saves := func(ctx context.Context, req terminal.Request, _ func(terminal.Frame) error) (terminal.Outcome, error) {
			now, _ := req.Memory.Load(ctx)
			lasting, _ := req.Memory.LoadLasting(ctx)
			loaded = append(loaded, now+"/"+lasting)
			_ = req.Memory.Save(ctx, "s"+req.Text)
			_ = req.Memory.SaveLasting(ctx, "l"+req.Text)
			req.OnAgentInfo(terminal.AgentInfo{Line: "line of " + req.Text})
			return terminal.Outcome{Status: terminal.Done}, nil
		}
		r := newRig(t, saves)
		r.twoAgents(&agent{run: saves})
		r.disk.memory = map[string]string{"ann/agent": "earlier", "ann/lasting:agent": "earliest"} // of a state with one agent
		for _, name := range []string{"default", "coder", "default", "coder"} {
			r.beginAs(name).Run(t.Context())
			synctest.Wait()
		}
		expect(t, "loaded", loaded, []string{"earlier/earliest", "/", "shello/lhello", "shello/lhello"})
		for _, name := range []string{"default", "coder"} {
			if about, err := r.StoredAgentInfo(t.Context(), ann, name); about.Line != "line of hello" || err != nil {
				t.Errorf("%s told %+v, %v", name, about, err)
			}
		}
		expect(t, "keys", len(r.disk.memory), 6)
		r.stop()
	})
}

// menus is a network with a menu for each chat.
type menus struct {
	network
	shown *[]string
}

func (m menus) SetChatMenu(_ context.Context, chat channels.Chat, commands []channels.Command) error {
	line := chat.ID + ":"
	for _, c := range commands {
		line += " " + c.Name
	}
	*m.shown = append(*m.shown, line)
	return nil
}

func TestTheMenuOfAChatShowsTheCommandsOfTheChosenAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		has := func(command string) func(context.Context, terminal.Request, func(terminal.Frame) error) (terminal.Outcome, error) {
			return func(_ context.Context, req terminal.Request, _ func(terminal.Frame) error) (terminal.Outcome, error) {
				req.OnAgentInfo(terminal.AgentInfo{Commands: []terminal.Command{{Name: command}}})
				return terminal.Outcome{Status: terminal.Done}, nil
			}
		}
		r := newRig(t, has("plan"))
		var shown []string
		r.channels["net"] = menus{shown: &shown}
		r.twoAgents(&agent{run: has("review")})
		r.begin().Run(t.Context())
		synctest.Wait()
		r.beginAs("coder").Run(t.Context()) // which does not answer next
		synctest.Wait()
		expect(t, "menus", shown, []string{"ann: plan"})
		r.chosen = "coder"
		r.AgentChanged(ann, "coder")
		synctest.Wait()
		expect(t, "menus", shown, []string{"ann: plan", "ann: review"})
		r.stop()
	})
}

func TestTheOutcomeOfATurnNamesItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		r := newRigWith(t, says("hi"), func(o *turn.Options) {
			o.Events = func(e events.Event) {
				if e.Type == events.Ended {
					ended = append(ended, e.Agent)
				}
			}
		})
		r.twoAgents(&agent{run: says("hi")})
		r.beginAs("coder").Run(t.Context())
		r.begin().Run(t.Context())
		r.stop()
		expect(t, "agents", ended, []string{"coder", "default"})
	})
}
