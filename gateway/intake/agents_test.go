package intake_test

import (
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// addAgents configures agents beside the default one, and returns their fakes.
func (r *fixture) addAgents(names ...string) map[string]*fakeAgents {
	agents := map[string]*fakeAgents{}
	for _, name := range names {
		agents[name] = &fakeAgents{}
		r.settings.Agents[name] = intake.Agent{Runner: agents[name], Injectable: true}
	}
	return agents
}

// buttonData returns the data of the buttons of the newest message.
func buttonData(deliveries []store.Delivery) (data []string) {
	for _, b := range deliveries[len(deliveries)-1].Out.Buttons {
		data = append(data, b.Label+" "+b.Data)
	}
	return data
}

func TestAChatChoosesItsAgent(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.addAgents("coder", "writer")
		r.checkEqual("the agent at first", r.writeMessage("ann", "hello").Agent, "default")
		r.finishTurn("ann")
		r.writeMessage("ann", "/agent Coder", "Your next message goes to coder.")
		r.checkEqual("the agent", r.writeMessage("ann", "hello").Agent, "coder")
		r.finishTurn("ann")
		r.checkEqual("the agent of another chat", r.writeMessage("bob", "hello").Agent, "default")
		r.writeMessage("ann", "/new", "This is a new conversation")
		r.checkEqual("the agent after /new", r.writeMessage("ann", "hello").Agent, "coder")
		r.finishTurn("ann")
		r.writeMessage("ann", "/agent coder", "You are already talking to coder.")
		r.pressButton("ann", "agent:default", "Your next message goes to default.")
		r.checkEqual("the agent after the press", r.writeMessage("ann", "hello").Agent, "default")
		r.checkEqual("told", r.chosen, []string{"ann: coder", "ann: default"})
		r.checkEqual("recorded", r.decisions(), []string{"command allowed /agent", "command allowed /new", "command allowed /agent", "command allowed /agent"})
	})
}

func TestAgentNamesTheAgentsWithAButtonEach(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.addAgents("coder", "writer")
		ask := func(text, want string, offered ...string) {
			r.t.Helper()
			if err := r.Receive(r.t.Context(), r.message("ann", text)); err != nil {
				r.t.Fatal(err)
			}
			r.checkEqual("buttons of "+text, buttonData(r.checkStored(chatOf("ann"), want)), offered)
		}
		ask("/agent", "You are talking to default. To change, send /agent NAME: coder, writer.", "coder agent:coder", "writer agent:writer")
		all := []string{"coder agent:coder", "default agent:default", "writer agent:writer"}
		ask("/agent codr", `There is no agent "codr". Did you mean coder? These are the agents: coder, default, writer.`, all...)
		ask("/AGENT *x*", `There is no agent "\*x\*". These are the agents: coder, default, writer.`, all...)
		r.checkEqual("nothing is chosen", r.writeMessage("ann", "hello").Agent, "default")
	})
}

func TestManyAgentsDoNotHaveTooManyButtons(t *testing.T) {
	runIntake(t, func(r *fixture) {
		for n := range 30 {
			r.addAgents("a" + strings.Repeat("x", n))
		}
		if err := r.Receive(r.t.Context(), r.message("ann", "/agent")); err != nil {
			r.t.Fatal(err)
		}
		r.checkEqual("buttons", len(buttonData(r.checkStored(chatOf("ann"), "You are talking to default."))), 20)
	})
}

func TestWithOneAgentThereIsNoAgentCommand(t *testing.T) {
	runIntake(t, func(r *fixture) {
		has := func(want bool) {
			r.t.Helper()
			offered := slices.ContainsFunc(r.choice.GatewayCommands(), func(c channels.Command) bool { return c.Name == "agent" })
			its := r.choice.AgentCommands(store.DefaultAgent, terminal.AgentInfo{Commands: []terminal.Command{{Name: "agent"}}})
			if offered != want || (len(its) == 0) != want {
				r.t.Errorf("offered %v, the agent's own are %v, want %v", offered, its, want)
			}
		}
		has(false)
		r.checkEqual("what is done about it", r.writeMessage("ann", "/agent coder").State, store.Running)
		r.pressButton("ann", "agent:coder", `There is no agent "coder".`) // of a message from when there was one
		r.finishTurn("ann")
		r.addAgents("coder")
		has(true)
		r.checkEqual("what is done about it", r.writeMessage("ann", "/agent coder", "Your next message goes to coder.").State, store.Done)
		r.writeMessage("ann", "/help", "/stop: ")
	})
}

func TestAChoiceThatIsNoLongerConfiguredIsReportedOnce(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.addAgents("coder", "writer")
		r.writeMessage("ann", "/agent coder", "Your next message goes to coder.")
		delete(r.settings.Agents, "coder")
		first := r.writeMessage("ann", "one", "The agent coder is no longer available, so default answers from now on. /agent chooses another.")
		r.checkEqual("the agent", first.Agent, "default")
		r.finishTurn("ann")
		r.writeMessage("ann", "two")
		r.finishTurn("ann")
		r.addAgents("coder")
		r.checkEqual("the agent once it is configured again", r.writeMessage("ann", "three").Agent, "default")
		r.finishTurn("ann")
		r.writeMessage("ann", "/agent writer", "Your next message goes to writer.")
		delete(r.settings.Agents, "coder")
		delete(r.settings.Agents, "writer")
		r.writeMessage("ann", "four", "The agent writer is no longer available, so default answers from now on.")
		r.checkEqual("all told", len(r.settleAll(chatOf("ann"))), 0)
	})
}

// A message that is not stored must not forget the choice either: nobody was told.
func TestAChoiceIsClearedOnlyTogetherWithItsNotice(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.addAgents("coder")
		r.writeMessage("ann", "/agent coder", "Your next message goes to coder.")
		r.writeMessage("ann", "works")
		delete(r.settings.Agents, "coder")
		r.settings.WhileRunning = intake.Reject
		r.writeMessage("ann", "rejected", "I am still working on your last message.")
		r.finishTurn("ann")
		r.writeMessage("ann", "next", "The agent coder is no longer available, so default answers from now on.")
	})
}

func TestAChoiceWhileATurnRunsAppliesToTheNextMessage(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.addAgents("coder")
		r.settings.WhileRunning = intake.Inject
		r.writeMessage("ann", "one")
		waits := r.writeMessage("ann", "two")
		r.writeMessage("ann", "/agent coder", "Your next message goes to coder. default is still working.")
		r.checkEqual("the agent of what waits", waits.Agent, "default")
		next := r.writeMessage("ann", "three")
		r.checkEqual("the agent of the next message", next.Agent, "coder")
		if got := r.runningTurn("ann").injected; len(got) != 1 || got[0].ID != waits.ID {
			r.t.Errorf("the agent that runs was handed %v", got)
		}
	})
}

func TestAnAgentThatAcceptsNoInjectionsHasAQueue(t *testing.T) {
	runIntake(t, func(r *fixture) {
		plain := r.addAgents("plain")["plain"]
		r.settings.Agents["plain"] = intake.Agent{Runner: plain}
		r.settings.WhileRunning, r.settings.QueueLimit = intake.Inject, 1
		r.writeMessage("ann", "/agent plain", "Your next message goes to plain.")
		r.writeMessage("ann", "one")
		r.writeMessage("ann", "two")
		r.writeMessage("ann", "three", "1 message already waiting")
		r.checkEqual("messages that the turn is handed", r.runningTurn("ann").InjectedCount(), 0)
	})
}

func TestStopEndsTheBackgroundCommandsOfEveryAgent(t *testing.T) {
	runIntake(t, func(r *fixture) {
		coder := r.addAgents("coder")["coder"]
		coder.left, r.agents.left = 2, 1
		r.writeMessage("ann", "/stop", "3 commands stopped.")
		r.writeMessage("ann", "hello") // to the default agent, which ends its own
		coder.left, r.agents.left = 2, 1
		r.writeMessage("ann", "/stop", "2 commands stopped.")
		r.checkEqual("left to the turn", r.agents.left, 1)
	})
}

func TestStopReachesTheBackgroundWorkOfAnAgent(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.works = true
		r.writeMessage("ann", "/stop", "The agent was told to stop its background work.")
	})
}

func TestStatusAndHelpAreThoseOfTheAgentThatAnswers(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.addAgents("coder")
		r.about = map[string]terminal.AgentInfo{"coder": {Line: "Coder 2", Commands: []terminal.Command{{Name: "review"}}}}
		r.writeMessage("ann", "first")
		r.finishTurn("ann")
		r.writeMessage("ann", "/agent coder", "Your next message goes to coder.")
		r.writeMessage("ann", "second")
		r.writeMessage("ann", "/status", "Running for 0s (agent coder): second\nAgent: coder: Coder 2\nWaiting: 0\nLast turns:\n- done (agent default), 0s, CPU 200ms: first")
		r.writeMessage("ann", "/agent default", "Your next message goes to default. coder is still working.")
		r.writeMessage("ann", "/status", "Running for 0s (agent coder): second\nAgent: default\n")
		if err := r.Receive(r.t.Context(), r.message("ann", "/help")); err != nil {
			r.t.Fatal(err)
		}
		if help := r.settleAll(chatOf("ann"))[0].Out.Text; strings.Contains(help, "/review") || !strings.Contains(help, "/agent: ") {
			r.t.Errorf("help is %q", help)
		}
	})
}

func TestPersistentAgentsEndWithTheAccessOfTheirLastPerson(t *testing.T) {
	runIntake(t, func(r *fixture) {
		coder := r.addAgents("coder")["coder"]
		coder.idle = []terminal.IdleAgent{{Chat: "net:eve", Users: []string{"eve"}}, {Chat: "net:ann", Users: []string{"ann"}}}
		r.agents.idle = []terminal.IdleAgent{{Chat: "net:eve", Users: []string{"eve"}}}
		r.watchRevoked(func() {})
		r.checkEqual("released of coder", slices.Compact(coder.endedIdle), []string{"net:eve"})
		r.checkEqual("released of default", slices.Compact(r.agents.endedIdle), []string{"net:eve"})
	})
}
