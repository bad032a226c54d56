package intake_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// addAgents configures agents beside the default one, and returns what they have left running.
func (r *rig) addAgents(names ...string) map[string]*fakeAgents {
	agents := map[string]*fakeAgents{}
	for _, name := range names {
		agents[name] = &fakeAgents{}
		r.settings.Agents[name] = intake.Agent{Runner: agents[name], Injectable: true}
	}
	return agents
}

// buttons are what the newest message to a chat offers.
func buttons(deliveries []store.Delivery) (data []string) {
	for _, b := range deliveries[len(deliveries)-1].Out.Buttons {
		data = append(data, b.Label+" "+b.Data)
	}
	return data
}

func TestAChatChoosesItsAgent(t *testing.T) {
	simulate(t, func(r *rig) {
		r.addAgents("coder", "writer")
		r.same("the agent at first", r.say("ann", "hello").Agent, "default")
		r.finish("ann")
		r.say("ann", "/agent Coder", "The agent coder answers from now on.")
		r.same("the agent", r.say("ann", "hello").Agent, "coder")
		r.finish("ann")
		r.same("the agent of another chat", r.say("bob", "hello").Agent, "default")
		r.say("ann", "/new", "This is a new conversation")
		r.same("the agent after /new", r.say("ann", "hello").Agent, "coder")
		r.finish("ann")
		r.say("ann", "/agent coder", "The agent coder already answers here.")
		r.press("ann", "agent:default", "The agent default answers from now on.")
		r.same("the agent after the press", r.say("ann", "hello").Agent, "default")
		r.same("told", r.chosen, []string{"ann: coder", "ann: default"})
		r.same("recorded", r.decisions(), []string{"command allowed /agent", "command allowed /new", "command allowed /agent", "command allowed /agent"})
	})
}

func TestAgentNamesTheAgentsWithAButtonEach(t *testing.T) {
	simulate(t, func(r *rig) {
		r.addAgents("coder", "writer")
		ask := func(text, want string, offered ...string) {
			r.t.Helper()
			if err := r.Receive(r.t.Context(), r.message("ann", text)); err != nil {
				r.t.Fatal(err)
			}
			r.same("buttons of "+text, buttons(r.told(chatOf("ann"), want)), offered)
		}
		ask("/agent", "The agent default answers here. /agent NAME chooses another: coder, writer.", "coder agent:coder", "writer agent:writer")
		all := []string{"coder agent:coder", "default agent:default", "writer agent:writer"}
		ask("/agent codr", `There is no agent "codr". Did you mean coder? These are the agents: coder, default, writer.`, all...)
		ask("/AGENT *x*", `There is no agent "\*x\*". These are the agents: coder, default, writer.`, all...)
		r.same("nothing is chosen", r.say("ann", "hello").Agent, "default")
	})
}

func TestManyAgentsDoNotHaveTooManyButtons(t *testing.T) {
	simulate(t, func(r *rig) {
		for n := range 30 {
			r.addAgents("a" + strings.Repeat("x", n))
		}
		if err := r.Receive(r.t.Context(), r.message("ann", "/agent")); err != nil {
			r.t.Fatal(err)
		}
		r.same("buttons", len(buttons(r.told(chatOf("ann"), "The agent default answers here."))), 20)
	})
}

func TestWithOneAgentThereIsNoAgentCommand(t *testing.T) {
	simulate(t, func(r *rig) {
		has := func(want bool) {
			r.t.Helper()
			offered := slices.ContainsFunc(r.Commands(), func(c channels.Command) bool { return c.Name == "agent" })
			its := r.AgentCommands(store.DefaultAgent, terminal.AgentInfo{Commands: []terminal.Command{{Name: "agent"}}})
			if offered != want || (len(its) == 0) != want {
				r.t.Errorf("offered %v, the agent's own are %v, want %v", offered, its, want)
			}
		}
		has(false)
		r.same("what is done about it", r.say("ann", "/agent coder").State, store.Running)
		r.press("ann", "agent:coder", `There is no agent "coder".`) // of a message from when there was one
		r.finish("ann")
		r.addAgents("coder")
		has(true)
		r.same("what is done about it", r.say("ann", "/agent coder", "The agent coder answers").State, store.Done)
		r.say("ann", "/help", "/stop: ")
	})
}

func TestAChoiceThatIsNoLongerConfiguredIsReportedOnce(t *testing.T) {
	simulate(t, func(r *rig) {
		r.addAgents("coder", "writer")
		r.say("ann", "/agent coder", "The agent coder answers")
		delete(r.settings.Agents, "coder")
		first := r.say("ann", "one", "The agent coder is no longer available, so default answers from now on. /agent chooses another.")
		r.same("the agent", first.Agent, "default")
		r.finish("ann")
		r.say("ann", "two")
		r.finish("ann")
		r.addAgents("coder")
		r.same("the agent once it is configured again", r.say("ann", "three").Agent, "default")
		r.finish("ann")
		r.say("ann", "/agent writer", "The agent writer answers")
		delete(r.settings.Agents, "coder")
		delete(r.settings.Agents, "writer")
		r.say("ann", "four", "The agent writer is no longer available, so default answers from now on.")
		r.same("all told", len(r.deliver(chatOf("ann"))), 0)
	})
}

// A message that is not stored must not forget the choice either: nobody was told.
func TestAChoiceIsClearedOnlyTogetherWithItsNotice(t *testing.T) {
	simulate(t, func(r *rig) {
		r.addAgents("coder")
		r.say("ann", "/agent coder", "The agent coder answers")
		r.say("ann", "works")
		delete(r.settings.Agents, "coder")
		r.settings.WhileRunning = intake.Reject
		r.say("ann", "rejected", "I am still working on your last message.")
		r.finish("ann")
		r.say("ann", "next", "The agent coder is no longer available, so default answers from now on.")
	})
}

func TestAChoiceWhileATurnRunsAppliesToTheNextMessage(t *testing.T) {
	simulate(t, func(r *rig) {
		r.addAgents("coder")
		r.settings.WhileRunning = intake.Inject
		r.say("ann", "one")
		waits := r.say("ann", "two")
		r.say("ann", "/agent coder", "The agent coder answers from your next message on. default is still working.")
		r.same("the agent of what waits", waits.Agent, "default")
		next := r.say("ann", "three", "Queued, number 2 in line.")
		r.same("the agent of the next message", next.Agent, "coder")
		if got := r.running("ann").injected; len(got) != 1 || got[0].ID != waits.ID {
			r.t.Errorf("the agent that runs was handed %v", got)
		}
	})
}

func TestAnAgentThatAcceptsNoInjectionsHasAQueue(t *testing.T) {
	simulate(t, func(r *rig) {
		plain := r.addAgents("plain")["plain"]
		r.settings.Agents["plain"] = intake.Agent{Runner: plain}
		r.settings.WhileRunning, r.settings.QueueLimit = intake.Inject, 1
		r.say("ann", "/agent plain", "The agent plain answers")
		r.say("ann", "one")
		r.say("ann", "two", "Queued, number 1 in line.")
		r.say("ann", "three", "1 message already waiting")
		r.same("messages that the turn is handed", r.running("ann").InjectedCount(), 0)
	})
}

func TestStopEndsWhatAnyAgentHasLeftRunning(t *testing.T) {
	simulate(t, func(r *rig) {
		coder := r.addAgents("coder")["coder"]
		coder.left, r.agents.left = 2, 1
		r.say("ann", "/stop", "3 commands stopped.")
		r.say("ann", "hello") // to the default agent, which ends its own
		coder.left, r.agents.left = 2, 1
		r.say("ann", "/stop", "2 commands stopped.")
		r.same("left to the turn", r.agents.left, 1)
	})
}

func TestStatusAndHelpAreThoseOfTheAgentThatAnswers(t *testing.T) {
	simulate(t, func(r *rig) {
		r.addAgents("coder")
		r.about = map[string]terminal.AgentInfo{"coder": {Line: "Coder 2", Commands: []terminal.Command{{Name: "review"}}}}
		r.say("ann", "first")
		r.finish("ann")
		r.say("ann", "/agent coder", "The agent coder answers")
		r.say("ann", "second")
		r.say("ann", "/status", "Running for 0s by coder: second\nAgent: coder: Coder 2\nWaiting: 0\nLast turns:\n- done by default, 0s, CPU 200ms: first")
		r.say("ann", "/agent default", "The agent default answers from your next message on. coder is still working.")
		r.say("ann", "/status", "Running for 0s by coder: second\nAgent: default\n")
		if err := r.Receive(r.t.Context(), r.message("ann", "/help")); err != nil {
			r.t.Fatal(err)
		}
		if help := r.deliver(chatOf("ann"))[0].Out.Text; strings.Contains(help, "/review") || !strings.Contains(help, "/agent: ") {
			r.t.Errorf("help is %q", help)
		}
	})
}

func TestPersistentAgentsEndWithTheAccessOfTheirLastPerson(t *testing.T) {
	simulate(t, func(r *rig) {
		coder := r.addAgents("coder")["coder"]
		coder.kept = []terminal.IdleAgent{{Chat: "net:eve", Users: []string{"eve"}}, {Chat: "net:ann", Users: []string{"ann"}}}
		r.agents.kept = []terminal.IdleAgent{{Chat: "net:eve", Users: []string{"eve"}}}
		ctx, cancel := context.WithCancel(r.t.Context())
		ended := make(chan struct{})
		go func() { r.WatchRevoked(ctx); close(ended) }()
		time.Sleep(time.Minute)
		cancel()
		<-ended
		r.same("released of coder", slices.Compact(coder.released), []string{"net:eve"})
		r.same("released of default", slices.Compact(r.agents.released), []string{"net:eve"})
	})
}
