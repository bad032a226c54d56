package intake_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/access"
	"nanobot/gateway/audit"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/internal/role"
)

const guestRefusal = "Your role here is guest, which does not include this."

// setGuest makes ann the owner and bob a guest.
func (fx *fixture) setGuest() {
	fx.people.Roles = map[role.Role][]string{role.Owner: {"net:ann"}, role.Guest: {"net:bob"}}
}

func TestAGuestTalksToTheAgentAndHasNoOtherCommandsThanEverybodyNeeds(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setGuest()
		for _, name := range intake.CommandNames() {
			switch name {
			case "start", "help", "whoami":
				continue
			case "runbooks", "run", "agent": // are for the agent, since there are neither runbooks nor other agents
				continue
			case "details", "cancel", "again", "rerun", "resend", "unschedule":
				fx.pressButton("bob", "/"+name+" 1", guestRefusal)
			default:
				fx.writeMessage("bob", "/"+name+" 1", guestRefusal)
			}
		}
		for _, r := range fx.records {
			if r.Event != audit.Denied || r.Decision != audit.Role || !strings.HasPrefix(r.Command, "/") {
				fx.t.Errorf("recorded %+v", r)
			}
		}
		fx.checkEqual("records", len(fx.records), len(intake.CommandNames())-6)
		fx.writeMessage("bob", "/whoami", "user id: bob\nchat: net:bob\nrole: guest")
		fx.writeMessage("bob", "/help", "/whoami: show your ID and this chat's\n/help: list these commands\nEverything else goes to the agent.")
		fx.writeMessage("bob", "/plan it")
		fx.checkEqual("turn", fx.runningTurn("bob").inbound.In.Text, "/plan it")
	})
}

func TestARefusedCommandThatIsDeliveredTwiceIsAnsweredOnceAndSilently(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setGuest()
		in := fx.message("bob", "/status")
		in.User.Language = "de"
		fx.receive(in, "Deine Rolle ist hier guest, und das gehört nicht dazu.")
		fx.receive(in)
		fx.checkEqual("records", len(fx.records), 1)
		for _, d := range fx.settleAll(chatOf("bob")) {
			if !d.Out.Silent {
				fx.t.Errorf("the refusal notifies: %+v", d.Out)
			}
		}
	})
}

func TestWhoIsInNoListHasTheStoredRoleOrIsAUser(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.people.Roles = map[role.Role][]string{role.Owner: {"net:ann"}}
		fx.writeMessage("bob", "/whoami", "user id: bob\nchat: net:bob\nrole: user")
		save := func(user, name string) {
			if err := fx.store.SaveRecords(fx.t.Context(), map[string]string{access.RoleRecord(store.Person{Channel: "net", User: user}): name}); err != nil {
				fx.t.Fatal(err)
			}
		}
		save("bob", "guest")
		save("ann", "guest")
		fx.writeMessage("bob", "/whoami", "user id: bob\nchat: net:bob\nrole: guest")
		fx.writeMessage("ann", "/whoami", "user id: ann\nchat: net:ann\nrole: owner")
		fx.people.Roles = nil
		fx.writeMessage("bob", "/whoami", "user id: bob\nchat: net:bob")
	})
}

func TestWithRolesApproversAndOwnersApproveWhereNoListNamesOthers(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.people.Roles = map[role.Role][]string{role.Owner: {"net:bob"}}
		fx.writeMessage("ann", "hello")
		fx.askApproval("q")
		fx.pressButton("ann", "answer:q:1", onlyApprovers)
		fx.setApprovers(store.DefaultAgent, "net:carla")
		fx.receive(fx.messageInChat("ann", "bob", "", "answer:q:1"), onlyApprovers)
		fx.setApprovers(store.DefaultAgent)
		fx.receive(fx.messageInChat("ann", "bob", "", "answer:q:1"))
		fx.checkEqual("answers", fx.answered, []string{"q: Yes by bob"})
	})
}

func TestAGuestHasTheAgentOfTheRouteAlsoWhereTheChatHasChosenAnother(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.Agents["coder"] = intake.Agent{Runner: fx.agents}
		fx.setGuest()
		fx.writeMessage("ann", "/agent coder", "Your next message goes to coder.")
		fx.receive(fx.messageInChat("ann", "bob", "/agent coder", ""), guestRefusal)
		in, err := fx.choice.Decide(fx.t.Context(), fx.messageInChat("ann", "bob", "hello", ""))
		if err != nil || in.Answerer.Agent != config.DefaultAgent || len(in.Answerer.Choices) != 1 {
			fx.t.Errorf("a guest has %+v, %v", in.Answerer, err)
		}
		in, err = fx.choice.Decide(fx.t.Context(), fx.message("ann", "hello"))
		if err != nil || in.Answerer.Agent != "coder" {
			fx.t.Errorf("the owner has %+v, %v", in.Answerer, err)
		}
	})
}

func TestAGuestTypesIntoNoTerminal(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setGuest()
		fx.agents.commands, fx.agents.taken = keysCommands, true
		fx.writeMessage("bob", "/key enter", guestRefusal)
		fx.writeMessage("bob", "ls")
		fx.checkEqual("turn", fx.runningTurn("bob").inbound.In.Text, "ls")
		fx.checkEqual("carried out", len(fx.agents.done), 0)
	})
}

func TestTextThatNobodyHasTypedCountsAtMostAsThatOfAUser(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setGuest()
		for maker, want := range map[string]role.Role{"ann": role.User, "bob": role.Guest, "": role.User} {
			r, err := fx.access.RoleOf(fx.t.Context(), channels.Incoming{Chat: chatOf("ann"), Origin: channels.BySchedule("s"), Maker: maker})
			if r != want || err != nil {
				fx.t.Errorf("%q: %s, %v", maker, r, err)
			}
		}
	})
}
