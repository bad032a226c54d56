package intake_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/choice"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
)

// runRouted is runIntake with the agents coder and writer, and rules.
func runRouted(t *testing.T, rules []config.Route, test func(fx *fixture)) {
	runIntake(t, func(fx *fixture) {
		fx.addAgents("coder", "writer")
		fx.routes = rules
		test(fx)
	})
}

// route is a rule for a command.
func route(command, agent string) config.Route {
	return config.Route{Match: config.Match{Command: config.Values{command}}, Agent: agent}
}

// checkQueued receives a message and checks the text, the agent and the place that were stored.
func (fx *fixture) checkQueued(in channels.Incoming, text, agent, place string) {
	fx.t.Helper()
	got := fx.receive(in)
	fx.checkEqual("the message", []string{got.In.Text, got.Agent, got.In.Workspace + got.In.Worktree}, []string{text, agent, place})
	if t := fx.lanes.turns[in.Chat]; t != nil {
		_, err := fx.store.Finish(fx.t.Context(), t.inbound.ID, store.Done, store.Outcome{})
		musttest.Do(fx.t, err)
		delete(fx.lanes.turns, in.Chat)
	}
}

func TestARuleDecidesWhoAnswersAndWhere(t *testing.T) {
	image := filepath.Join(t.TempDir(), "photo.png")
	musttest.Do(t, os.WriteFile(image, nil, 0o600))
	runRouted(t, []config.Route{
		{Match: config.Match{Command: config.Values{"faq"}}, Agent: "writer", Workspace: "docs"},
		{Match: config.Match{Media: config.Values{"image/*"}}, Agent: "coder"},
		{Match: config.Match{Chat: config.Values{"room"}, Topic: config.Values{"7"}}, Agent: "coder", Worktree: "repo"},
		{Match: config.Match{User: config.Values{"bob"}}, Agent: "writer"},
	}, func(fx *fixture) {
		fx.checkQueued(fx.message("ann", "hello"), "hello", "default", "")
		fx.checkQueued(fx.message("ann", "/FAQ how?"), "how?", "writer", "docs")
		fx.checkQueued(fx.message("ann", "/faq"), "", "writer", "docs")
		fx.checkQueued(fx.message("ann", "/faqs how?"), "/faqs how?", "default", "")
		fx.checkQueued(fx.message("bob", "hello"), "hello", "writer", "")
		photo := fx.message("bob", "look")
		photo.Media = []string{image}
		fx.checkQueued(photo, "look", "coder", "")
		topic := fx.message("ann", "hello")
		topic.Chat.ID, topic.Group = "room_7", true
		fx.checkQueued(topic, "hello", "coder", "repo")
		thread := fx.message("ann", "/faq hello")
		thread.Chat.ID, thread.Parent, thread.ThreadID = "7", "room", "7"
		fx.checkQueued(thread, "hello", "writer", "docs")
		thread.ID, thread.Text = "x", "hello"
		fx.checkQueued(thread, "hello", "coder", "repo")
		forwarded := fx.message("ann", "/faq how?")
		forwarded.Forwarded = &channels.Forwarded{}
		fx.checkQueued(forwarded, "/faq how?", "default", "")
	})
}

func TestAMessageThatWaitsKeepsItsAgentWhenTheRulesChange(t *testing.T) {
	runRouted(t, []config.Route{{Agent: "coder", Workspace: "docs"}}, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		fx.writeMessage("ann", "two")
		fx.routes = []config.Route{{Agent: "writer"}}
		waiting := fx.writeMessage("ann", "three")
		fx.finishTurn("ann")
		fx.claimNext("ann")
		fx.checkEqual("the next turn", fx.runningTurn("ann").inbound.In.Workspace+" "+fx.runningTurn("ann").inbound.Agent, "docs coder")
		fx.checkEqual("the one after it", waiting.Agent, "writer")
	})
}

func TestAgentSwitchesOnlyWhereTheRuleAllowsIt(t *testing.T) {
	runRouted(t, []config.Route{
		route("faq", "writer"),
		{Match: config.Match{User: config.Values{"ann"}}, Agent: "default", Switch: config.Selection{Names: []string{"coder"}}},
		{Agent: "writer"},
	}, func(fx *fixture) {
		fx.writeMessage("bob", "/agent", "writer answers here. The bot's configuration decides that.")
		fx.writeMessage("bob", "/agent coder", "writer answers here. The bot's configuration decides that.")
		german := fx.message("bob", "/agent")
		german.User.Language = "de"
		fx.receive(german, "Hier antwortet writer. Das legt die ")
		musttest.Do(fx.t, fx.Receive(fx.t.Context(), fx.message("ann", "/agent")))
		fx.checkEqual("buttons", buttonData(fx.checkStored(chatOf("ann"), "You are talking to default.")), []string{"coder agent:coder"})
		fx.writeMessage("ann", "/agent writer", "writer cannot be chosen here. These agents can: coder, default.")
		fx.writeMessage("ann", "/agent typist", `There is no agent "typist".`)
		fx.writeMessage("ann", "/agent coder", "Your next message goes to coder.")
		fx.checkQueued(fx.message("ann", "hello"), "hello", "coder", "")
		fx.checkQueued(fx.message("ann", "/faq hello"), "hello", "writer", "")
		fx.writeMessage("ann", "/status", "Nothing is running.\nAgent: coder\n")
		fx.routes[1].Switch = config.Selection{}
		fx.checkQueued(fx.message("ann", "hello"), "hello", "default", "")
		fx.routes = nil
		fx.checkQueued(fx.message("ann", "hello"), "hello", "coder", "")
	})
}

func TestWhereNoRuleMatchesTheDefaultAgentAnswers(t *testing.T) {
	runRouted(t, []config.Route{route("faq", "writer")}, func(fx *fixture) {
		_, err := fx.store.Receive(fx.t.Context(), store.ReceiveRequest{In: fx.message("ann", "/agent coder"), Settle: true, Remember: choice.Remember("coder")})
		musttest.Do(fx.t, err)
		fx.checkQueued(fx.message("ann", "hello"), "hello", "default", "")
		fx.writeMessage("ann", "/agent", "default answers here.")
	})
}

func TestMenusHaveTheCommandsOfRulesAndAgentOnlyWhereItSwitches(t *testing.T) {
	names := func(fx *fixture) (all []string) {
		for _, c := range fx.choice.Menu() {
			if c.Name == "agent" || c.Name == "faq" || c.Name == "help" {
				all = append(all, c.Name+": "+c.HelpFor("de"))
			}
		}
		return all
	}
	runRouted(t, []config.Route{route("FAQ", "writer"), route("faq", "coder")}, func(fx *fixture) {
		fx.checkEqual("menu", names(fx), []string{"faq: writer fragen", "help: diese Befehle auflisten"})
		fx.routes[1].Switch.All = true
		fx.checkEqual("menu", names(fx), []string{"agent: den Agenten zeigen oder wählen", "faq: writer fragen", "help: diese Befehle auflisten"})
		fx.routes = nil
		fx.checkEqual("menu", names(fx), []string{"agent: den Agenten zeigen oder wählen", "help: diese Befehle auflisten"})
	})
}

func TestMessagesForDifferentAgentsOrPlacesAreNotGathered(t *testing.T) {
	rules := []config.Route{route("faq", "writer"), route("code", "default"), {Agent: "default"}}
	rules[1].Workspace = "src"
	runRouted(t, rules, func(fx *fixture) {
		fx.settings.Gather = time.Second
		for _, text := range []string{"one", "two", "/faq three", "/code four", "/code five", "six"} {
			fx.receive(fx.message("ann", text))
		}
		fx.checkInbounds("ann", "one\ntwo pending", "three pending", "four\nfive pending", "six pending")
	})
}

// Somebody writes "/faq what is this?" and forwards a message with it.
func TestWhatFollowsACommandGoesToItsAgent(t *testing.T) {
	image := filepath.Join(t.TempDir(), "photo.png")
	musttest.Do(t, os.WriteFile(image, nil, 0o600))
	rules := []config.Route{route("faq", "writer"), {Match: config.Match{Media: config.Values{"image/*"}}, Agent: "coder"}}
	rules[0].Workspace = "docs"
	runRouted(t, rules, func(fx *fixture) {
		fx.writeMessage("ann", "busy")
		fx.receive(fx.message("ann", "/faq what is this?"))
		forward := fx.message("ann", "news")
		forward.Follows, forward.Forwarded = true, &channels.Forwarded{}
		joined := fx.receive(forward)
		fx.checkEqual("the message", []string{joined.In.Text, joined.Agent, joined.In.Workspace}, []string{"what is this?\nnews", "writer", "docs"})
		fx.receive(fx.message("ann", "look"))
		photo := fx.message("ann", "photo")
		photo.Follows, photo.Media = true, []string{image}
		fx.checkEqual("the agent of a picture", fx.receive(photo).Agent, "coder")
		fx.checkInbounds("ann", "busy running", "what is this?\nnews pending", "look pending", "photo pending")
	})
}

func TestARunningTurnReadsNoMessageForAnotherPlace(t *testing.T) {
	rules := []config.Route{route("code", "default"), {Agent: "default"}}
	rules[0].Workspace = "src"
	runRouted(t, rules, func(fx *fixture) {
		fx.settings.WhileRunning = intake.Inject
		fx.writeMessage("ann", "one")
		fx.writeMessage("ann", "/code two")
		fx.checkEqual("injected", len(fx.runningTurn("ann").injected), 0)
		fx.finishTurn("ann")
		fx.claimNext("ann")
		fx.writeMessage("ann", "/code three")
		fx.checkEqual("injected", len(fx.runningTurn("ann").injected), 1)
	})
}

func TestAnEditIsRoutedLikeAMessage(t *testing.T) {
	rules := []config.Route{route("faq", "writer"), route("code", "coder"), {Agent: "default", Switch: config.Selection{All: true}}}
	rules[1].Workspace = "src"
	runRouted(t, rules, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		in := fx.message("ann", "/faq two")
		check := func(edit, text, agent, place string, answers ...string) {
			fx.t.Helper()
			fx.receive(edited(in, edit), answers...)
			got, _, err := fx.store.Message(fx.t.Context(), in.Chat, in.ID)
			musttest.Do(fx.t, err)
			fx.checkEqual("edit "+edit, []string{got.In.Text, got.Agent, got.In.Workspace}, []string{text, agent, place})
		}
		fx.receive(in)
		check("/faq two", "two", "writer", "")
		check("/faq three", "three", "writer", "")
		check("/faq /stop", "/stop", "writer", "")
		check("/faq /new", "/new", "writer", "")
		check("/code three", "three", "coder", "src")
		check("three", "three", "default", "")
		fx.writeMessage("ann", "/agent coder", "Your next message goes to coder.")
		check("three", "three", "default", "") // the network says that it was edited, and nothing has changed
		fx.finishTurn("ann")
		fx.claimNext("ann")
		check("three", "three", "default", "")
		check("/code three", "three", "coder", "src", offerText)
		fx.finishTurn("ann")
		fx.pressButton("ann", "rerun:"+in.ID)
		fx.claimNext("ann")
		fx.checkEqual("rerun", fx.runningTurn("ann").inbound.Agent, "coder")
	})
}

func TestAnEditedPieceOfAMessageLosesItsCommandToo(t *testing.T) {
	runRouted(t, []config.Route{route("faq", "writer")}, func(fx *fixture) {
		fx.settings.Gather = time.Second
		first, second := fx.message("ann", "/faq one"), fx.message("ann", "/faq two")
		fx.receive(first)
		fx.receive(second)
		fx.receive(edited(second, "/faq three"))
		fx.receive(edited(first, "/faq zero"))
		fx.checkInbounds("ann", "zero\nthree pending")
	})
}

func TestTheCommandOfARuleIsNoAnswerToAQuestion(t *testing.T) {
	runRouted(t, []config.Route{route("faq", "writer")}, func(fx *fixture) {
		fx.writeMessage("ann", "begin")
		fx.askQuestion("q", "Yes", "No")
		fx.writeMessage("ann", "/faq Yes")
		fx.checkEqual("answered", fx.answered, []string(nil))
		fx.writeMessage("ann", "Yes")
		fx.checkEqual("answered", len(fx.answered), 1)
	})
}

func TestAButtonBelongsToTheAgentThatHasShownIt(t *testing.T) {
	rules := []config.Route{route("faq", "writer"), {Agent: "coder"}}
	rules[0].Workspace = "docs"
	runRouted(t, rules, func(fx *fixture) {
		inbound := fx.writeMessage("ann", "/faq offer")
		data := fx.enqueueChoices(inbound, 1, "Yes", "/faq no")
		fx.finishTurn("ann")
		fx.pressButton("ann", data[1])
		got := fx.runningTurn("ann").inbound
		fx.checkEqual("the press", []string{got.In.Text, got.Agent, got.In.Workspace}, []string{"/faq no", "writer", "docs"})
	})
}

func TestAutomaticMessagesAreRoutedByTheirChatAndOrigin(t *testing.T) {
	runRouted(t, []config.Route{
		{Match: config.Match{Hook: config.Values{"ci"}}, Agent: "coder", Switch: config.Selection{Names: []string{"writer"}}, Workspace: "src"},
		{Match: config.Match{User: config.Values{"bob"}}, Agent: "writer"},
		{Match: config.Match{Kind: config.Values{"group"}}, Agent: "coder"},
	}, func(fx *fixture) {
		ask := func(chat, agent string, origin channels.Origin, maker string) string {
			fx.t.Helper()
			fx.lastID++
			result, err := fx.ReceiveAutomatic(fx.t.Context(), store.ReceiveRequest{
				In: channels.Incoming{Chat: chatOf(chat), Origin: origin, Maker: maker, Text: "/faq x"}, Agent: agent,
			}, "")
			musttest.Do(fx.t, err)
			fx.checkEqual("text", result.Inbound.In.Text, "/faq x")
			return result.Inbound.Agent + " " + result.Inbound.In.Workspace
		}
		fx.checkEqual("by hook", ask("ann", "", channels.ByHook("ci"), ""), "coder src")
		fx.checkEqual("by another hook", ask("ann", "", channels.ByHook("cd"), ""), "default ")
		fx.checkEqual("named and allowed", ask("ann", "writer", channels.ByHook("ci"), ""), "writer src")
		fx.checkEqual("named and not allowed", ask("ann", "default", channels.ByHook("ci"), ""), "default ")
		fx.checkEqual("by maker", ask("ann", "", channels.BySchedule("r"), "bob"), "writer ")
		group := fx.message("ann", "hello")
		group.Chat.ID, group.Group = "room", true
		fx.receive(group)
		fx.checkEqual("by the last message of the chat", ask("room", "", channels.ByAsk, ""), "coder ")
		next, err := fx.choice.Next(fx.t.Context(), chatOf("room"))
		fx.checkEqual("next", []any{next, err}, []any{"coder", nil})
		fx.writeMessage("bob", "hello")
		next, err = fx.choice.Next(fx.t.Context(), chatOf("bob"))
		fx.checkEqual("next in a private chat", []any{next, err}, []any{"writer", nil})
		rule, err := fx.choice.Find(fx.t.Context(), channels.Incoming{Chat: chatOf("ann"), Origin: channels.ByHook("ci")})
		fx.checkEqual("a rule about the hook", []any{rule.NamesOrigin(), err}, []any{true, nil})
		rule, err = fx.choice.Find(fx.t.Context(), channels.Incoming{Chat: chatOf("room"), Origin: channels.ByHook("cd")})
		fx.checkEqual("a rule about the chat", []any{rule.NamesOrigin(), err}, []any{false, nil})
	})
}

func TestNobodyReachesTheTerminalOfAnAgentThatNoRuleGivesThem(t *testing.T) {
	rules := []config.Route{
		{Match: config.Match{User: config.Values{"ann"}, Command: config.Values{"sh"}}, Agent: "coder"},
		{Match: config.Match{User: config.Values{"ann"}}, Agent: "default"},
		{Agent: "writer"},
	}
	runRouted(t, rules, func(fx *fixture) {
		running := &fakeController{commands: keysCommands, taken: true}
		fx.lanes.controller = running
		in := func(user, text, press string) channels.Incoming {
			m := fx.message(user, text)
			m.Chat.ID, m.Group, m.Press = "room", true, press
			return m
		}
		fx.receive(in("ann", "/sh begin", ""))
		for _, text := range []string{"/key Up", "rm -r ."} {
			fx.receiveInBackground(in("bob", text, ""))
			fx.receiveInBackground(in("ann", text, ""))
		}
		fx.receiveInBackground(in("bob", "", "/key Enter")) // the button belongs to the agent that has shown it
		fx.awaitAndCheck("room")
		fx.checkEqual("typed", running.done, []string{`net:room key "Up"`, `net:room  "rm -r ."`, `net:room key "Enter"`})
		fx.routes[2].Switch.Names = []string{"coder"}
		fx.receiveInBackground(in("bob", "/key Down", ""))
		fx.awaitAndCheck("room")
		fx.checkEqual("typed by somebody who could choose the agent", len(running.done), 4)
	})
}

func TestAButtonOfATerminalWorksAfterTheTurnOfACommand(t *testing.T) {
	runRouted(t, []config.Route{route("sh", "coder")}, func(fx *fixture) {
		terminals := &fakeAgents{fakeController: fakeController{commands: keysCommands}}
		fx.settings.Agents["coder"] = intake.Agent{Runner: terminals}
		fx.writeMessage("ann", "/sh begin")
		fx.finishTurn("ann")
		press := fx.message("ann", "")
		press.Press = "/key Up"
		fx.receiveInBackground(press)
		fx.awaitAndCheck("ann")
		fx.checkEqual("pressed", terminals.done, []string{`net:ann key "Up"`})
	})
}
