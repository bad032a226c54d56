package intake_test

import (
	"slices"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// addAgents configures agents beside the default one, and returns their fakes.
func (fx *fixture) addAgents(names ...string) map[string]*fakeAgents {
	agents := map[string]*fakeAgents{}
	for _, name := range names {
		agents[name] = &fakeAgents{}
		fx.settings.Agents[name] = intake.Agent{Runner: agents[name], Injectable: true}
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
	runIntake(t, func(fx *fixture) {
		fx.addAgents("coder", "writer")
		fx.checkEqual("the agent at first", fx.writeMessage("ann", "hello").Agent, "default")
		fx.finishTurn("ann")
		fx.writeMessage("ann", "/agent Coder", "Your next message goes to coder.")
		fx.checkEqual("the agent", fx.writeMessage("ann", "hello").Agent, "coder")
		fx.finishTurn("ann")
		fx.checkEqual("the agent of another chat", fx.writeMessage("bob", "hello").Agent, "default")
		fx.writeMessage("ann", "/new", "This is a new conversation")
		fx.checkEqual("the agent after /new", fx.writeMessage("ann", "hello").Agent, "coder")
		fx.finishTurn("ann")
		fx.writeMessage("ann", "/agent coder", "You are already talking to coder.")
		fx.pressButton("ann", "agent:default", "Your next message goes to default.")
		fx.checkEqual("the agent after the press", fx.writeMessage("ann", "hello").Agent, "default")
		fx.checkEqual("told", fx.chosen, []string{"ann: coder", "ann: default"})
		fx.checkEqual("recorded", fx.decisions(), []string{"command allowed /agent", "command allowed /new", "command allowed /agent", "command allowed /agent"})
	})
}

func TestAgentNamesTheAgentsWithAButtonEach(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.addAgents("coder", "writer")
		ask := func(text, want string, offered ...string) {
			fx.t.Helper()
			musttest.Do(fx.t, fx.Receive(fx.t.Context(), fx.message("ann", text)))
			fx.checkEqual("buttons of "+text, buttonData(fx.checkStored(chatOf("ann"), want)), offered)
		}
		ask("/agent", "You are talking to default. To change, send /agent NAME: coder, writer.", "coder agent:coder", "writer agent:writer")
		all := []string{"coder agent:coder", "default agent:default", "writer agent:writer"}
		ask("/agent codr", `There is no agent "codr". Did you mean coder? These are the agents: coder, default, writer.`, all...)
		ask("/AGENT *x*", `There is no agent "\*x\*". These are the agents: coder, default, writer.`, all...)
		fx.checkEqual("nothing is chosen", fx.writeMessage("ann", "hello").Agent, "default")
	})
}

func TestManyAgentsDoNotHaveTooManyButtons(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		for n := range 30 {
			fx.addAgents("a" + strings.Repeat("x", n))
		}
		musttest.Do(fx.t, fx.Receive(fx.t.Context(), fx.message("ann", "/agent")))
		fx.checkEqual("buttons", len(buttonData(fx.checkStored(chatOf("ann"), "You are talking to default."))), 20)
	})
}

func TestWithOneAgentThereIsNoAgentCommand(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		has := func(want bool) {
			fx.t.Helper()
			offered := slices.ContainsFunc(fx.choice.GatewayCommands(), func(c channels.Command) bool { return c.Name == "agent" })
			its := fx.choice.AgentCommands(store.DefaultAgent, terminal.AgentInfo{Commands: []terminal.Command{{Name: "agent"}}})
			if offered != want || (len(its) == 0) != want {
				fx.t.Errorf("offered %v, the agent's own are %v, want %v", offered, its, want)
			}
		}
		has(false)
		fx.checkEqual("what is done about it", fx.writeMessage("ann", "/agent coder").State, store.Running)
		fx.pressButton("ann", "agent:coder", `There is no agent "coder".`) // of a message from when there was one
		fx.finishTurn("ann")
		fx.addAgents("coder")
		has(true)
		fx.checkEqual("what is done about it", fx.writeMessage("ann", "/agent coder", "Your next message goes to coder.").State, store.Done)
		fx.writeMessage("ann", "/help", "/stop: ")
	})
}

func TestAChoiceThatIsNoLongerConfiguredIsReportedOnce(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.addAgents("coder", "writer")
		fx.writeMessage("ann", "/agent coder", "Your next message goes to coder.")
		delete(fx.settings.Agents, "coder")
		first := fx.writeMessage("ann", "one", "The agent coder is no longer available, so default answers from now on. /agent chooses another.")
		fx.checkEqual("the agent", first.Agent, "default")
		fx.finishTurn("ann")
		fx.writeMessage("ann", "two")
		fx.finishTurn("ann")
		fx.addAgents("coder")
		fx.checkEqual("the agent once it is configured again", fx.writeMessage("ann", "three").Agent, "default")
		fx.finishTurn("ann")
		fx.writeMessage("ann", "/agent writer", "Your next message goes to writer.")
		delete(fx.settings.Agents, "coder")
		delete(fx.settings.Agents, "writer")
		fx.writeMessage("ann", "four", "The agent writer is no longer available, so default answers from now on.")
		fx.checkEqual("all told", len(fx.settleAll(chatOf("ann"))), 0)
	})
}

// A message that is not stored must not forget the choice either: nobody was told.
func TestAChoiceIsClearedOnlyTogetherWithItsNotice(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.addAgents("coder")
		fx.writeMessage("ann", "/agent coder", "Your next message goes to coder.")
		fx.writeMessage("ann", "works")
		delete(fx.settings.Agents, "coder")
		fx.settings.WhileRunning = intake.Reject
		fx.writeMessage("ann", "rejected", "I am still working on your last message.")
		fx.finishTurn("ann")
		fx.writeMessage("ann", "next", "The agent coder is no longer available, so default answers from now on.")
	})
}

func TestAChoiceWhileATurnRunsAppliesToTheNextMessage(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.addAgents("coder")
		fx.settings.WhileRunning = intake.Inject
		fx.writeMessage("ann", "one")
		waits := fx.writeMessage("ann", "two")
		fx.writeMessage("ann", "/agent coder", "Your next message goes to coder. default is still working.")
		fx.checkEqual("the agent of what waits", waits.Agent, "default")
		next := fx.writeMessage("ann", "three")
		fx.checkEqual("the agent of the next message", next.Agent, "coder")
		if got := fx.runningTurn("ann").injected; len(got) != 1 || got[0].ID != waits.ID {
			fx.t.Errorf("the agent that runs was handed %v", got)
		}
	})
}

func TestAnAgentThatAcceptsNoInjectionsHasAQueue(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		plain := fx.addAgents("plain")["plain"]
		fx.settings.Agents["plain"] = intake.Agent{Runner: plain}
		fx.settings.WhileRunning, fx.settings.QueueLimit = intake.Inject, 1
		fx.writeMessage("ann", "/agent plain", "Your next message goes to plain.")
		fx.writeMessage("ann", "one")
		fx.writeMessage("ann", "two")
		fx.writeMessage("ann", "three", "1 message already waiting")
		fx.checkEqual("messages that the turn is handed", fx.runningTurn("ann").InjectedCount(), 0)
	})
}

func TestStopEndsTheBackgroundCommandsOfEveryAgent(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		coder := fx.addAgents("coder")["coder"]
		coder.left, fx.agents.left = 2, 1
		fx.writeMessage("ann", "/stop", "3 commands stopped.")
		fx.writeMessage("ann", "hello") // to the default agent, which ends its own
		coder.left, fx.agents.left = 2, 1
		fx.writeMessage("ann", "/stop", "2 commands stopped.")
		fx.checkEqual("left to the turn", fx.agents.left, 1)
	})
}

func TestTheButtonOfAStoppedTurnEndsWhatItHasLeftAndNothingElse(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		coder := fx.addAgents("coder")["coder"]
		fx.writeMessage("ann", "hello")
		coder.leftByTurns, coder.left, fx.agents.leftByTurns = []string{"make"}, 1, []string{"sleep 12"}
		fx.writeMessage("ann", "/status", "Running for 0s (agent default): hello\nStill running: `make`, `sleep 12`. /stop ends them.\nAgent: default\nWaiting: 0")
		fx.pressButton("ann", "stop:77", "2 commands stopped.")
		fx.pressButton("ann", "stop:77", "That has ended already.")
		fx.checkEqual("background commands", coder.left, 1)
		if fx.runningTurn("ann") == nil {
			t.Error("the running turn was stopped")
		}
		coder.leftByTurns, coder.cannotEnd = []string{"make"}, true
		fx.pressButton("ann", "stop:77", "Still running: `make`. /stop ends it.")
	})
}

func TestStopReachesTheBackgroundWorkOfAnAgent(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.works = true
		fx.writeMessage("ann", "/stop", "The agent was told to stop its background work.")
	})
}

func TestStatusAndHelpAreThoseOfTheAgentThatAnswers(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.addAgents("coder")
		fx.about = map[string]terminal.AgentInfo{"coder": {Line: "Coder 2", Commands: []terminal.Command{{Name: "review"}}}}
		fx.writeMessage("ann", "first")
		fx.finishTurn("ann")
		fx.writeMessage("ann", "/agent coder", "Your next message goes to coder.")
		fx.writeMessage("ann", "second")
		fx.writeMessage("ann", "/status", "Running for 0s (agent coder): second\nAgent: coder: Coder 2\nWaiting: 0\nLast turns:\n- done (agent default), 0s, CPU 200ms: first")
		fx.writeMessage("ann", "/agent default", "Your next message goes to default. coder is still working.")
		fx.writeMessage("ann", "/status", "Running for 0s (agent coder): second\nAgent: default\n")
		musttest.Do(fx.t, fx.Receive(fx.t.Context(), fx.message("ann", "/help")))
		if help := fx.settleAll(chatOf("ann"))[0].Out.Text; strings.Contains(help, "/review") || !strings.Contains(help, "/agent: ") {
			fx.t.Errorf("help is %q", help)
		}
	})
}

func TestPersistentAgentsEndWithTheAccessOfTheirLastPerson(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		coder := fx.addAgents("coder")["coder"]
		coder.idle = map[string][]string{"net:eve": {"eve"}, "net:ann": {"ann"}}
		fx.agents.idle = map[string][]string{"net:eve": {"eve"}}
		fx.watchRevoked(func() {})
		fx.checkEqual("released of coder", slices.Compact(coder.endedIdle), []string{"net:eve"})
		fx.checkEqual("released of default", slices.Compact(fx.agents.endedIdle), []string{"net:eve"})
	})
}
