package intake_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/terminal"
	"nanobot/terminal/screen"
)

// fakeController accepts the commands key and screen, and text while it is enabled.
type fakeController struct {
	commands []terminal.Command
	declines map[string]bool // commands that it does not accept
	taken    bool
	reply    terminal.ControlReply
	err      error
	takes    time.Duration
	panics   bool
	// asksAfter is how many commands it carries out before its program reads a password; 0: none.
	asksAfter int

	mu   sync.Mutex
	done []string // what it carried out
}

var keysCommands = []terminal.Command{{Name: "key", Help: "send keys"}, {Name: "screen", Help: "show the screen"}, {Name: "status", Help: "never reached"}}

func (c *fakeController) Controls() []terminal.Command { return c.commands }

func (c *fakeController) AcceptsControl(_, command string) bool {
	if command == "" {
		return c.taken
	}
	return !c.declines[command]
}

func (c *fakeController) Control(ctx context.Context, r terminal.ControlRequest) (terminal.ControlReply, error) {
	if c.panics {
		panic("out of ideas")
	}
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
		return terminal.ControlReply{}, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, fmt.Sprintf("%s %s %q", r.Chat, r.Command, r.Args))
	return c.reply, c.err
}

func (c *fakeController) ReadsSecret(terminal.ControlRequest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asksAfter > 0 && len(c.done) >= c.asksAfter
}

// receiveInBackground passes a message to intake, which may carry it out in the background.
func (fx *fixture) receiveInBackground(in channels.Incoming) {
	fx.t.Helper()
	if err := fx.Receive(fx.t.Context(), in); err != nil {
		fx.t.Fatalf("%q: %v", in.Text+in.Press, err)
	}
}

// writeToProtocol receives a message of a person for the protocol.
func (fx *fixture) writeToProtocol(user, text string) {
	fx.t.Helper()
	fx.receiveInBackground(fx.message(user, text))
}

// awaitAndCheck waits until intake is idle, and checks the messages to a chat.
func (fx *fixture) awaitAndCheck(user string, want ...string) []store.Delivery {
	fx.t.Helper()
	fx.IdleControls(fx.t.Context())
	synctest.Wait()
	return fx.checkStored(chatOf(user), want...)
}

func TestACommandOfTheProtocolIsCarriedOutOnceAndSettled(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.commands, fx.agents.reply = keysCommands, terminal.ControlReply{Text: "Pressed."}
		in := fx.message("ann", " /KEY  Up Enter")
		fx.receiveInBackground(in)
		fx.awaitAndCheck("ann", "Pressed.")
		fx.checkEqual("the reply is silent", fx.outbox.posted[0].silent, true)
		fx.receiveInBackground(in) // delivered again
		fx.awaitAndCheck("ann")
		fx.checkEqual("carried out", fx.agents.done, []string{`net:ann key "Up Enter"`})
		fx.checkInbounds("ann", " /KEY  Up Enter done")
		fx.checkEqual("records", fx.decisions(), []string{"command allowed /key"})
	})
}

func TestAProtocolsCommandReachesTheAgentOfTheTurnThatRunsElseTheChosenOne(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		other := &fakeAgents{fakeController: fakeController{commands: keysCommands}}
		fx.settings.Agents["other"] = intake.Agent{Runner: other}
		fx.writeMessage("ann", "/key Up") // the default agent has no such command
		fx.finishTurn("ann")
		fx.checkEqual("carried out between turns", len(other.done), 0)
		fx.writeMessage("ann", "/agent other", "Your next message goes to other.")
		fx.writeToProtocol("ann", "/key Up")
		fx.awaitAndCheck("ann")
		fx.checkEqual("carried out by the chosen one", other.done, []string{`net:ann key "Up"`})
		running := &fakeController{commands: keysCommands}
		fx.lanes.controller = running
		fx.writeMessage("ann", "work")
		fx.writeToProtocol("ann", "/key Down")
		fx.awaitAndCheck("ann")
		fx.checkEqual("carried out by that of the turn", running.done, []string{`net:ann key "Down"`})
		fx.checkEqual("what is typed moves the board", fx.runningTurn("ann").boardMoves, 0)
		running.reply = terminal.ControlReply{Text: "Typed."}
		fx.writeToProtocol("ann", "/key Down")
		fx.awaitAndCheck("ann", "Typed.")
		fx.checkEqual("a reply moves the board", fx.runningTurn("ann").boardMoves, 1)
		fx.finishTurn("ann")
		fx.lanes.controller = &fakeController{} // of a turn whose agent has no commands
		fx.writeMessage("ann", "work on")
		fx.writeToProtocol("ann", "/key Left")
		fx.awaitAndCheck("ann")
		fx.checkEqual("carried out by the chosen one meanwhile", other.done, []string{`net:ann key "Up"`, `net:ann key "Left"`})
	})
}

func TestAMessageThatTheProtocolDoesNotAcceptGetsATurn(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.commands, fx.agents.declines = keysCommands, map[string]bool{"key": true}
		fx.pressButton("ann", "/key Up")
		fx.checkEqual("carried out", len(fx.agents.done), 0)
		fx.checkInbounds("ann", "/key Up running")
		if in := fx.runningTurn("ann").inbound.In; in.Text != "/key Up" || in.Press != "" {
			t.Errorf("the turn sees %+v", in)
		}
		fx.finishTurn("ann")
		fx.writeMessage("ann", "hello")
		fx.checkInbounds("ann", "/key Up done", "hello running")
	})
}

func TestAPressCarriesOutACommandAsOftenAsItIsMade(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.commands = keysCommands
		for _, data := range []string{"/key Up", "/key Up", "/nosuch"} {
			in := fx.message("ann", "")
			in.Press = data
			fx.receiveInBackground(in)
		}
		fx.awaitAndCheck("ann")
		fx.checkEqual("carried out", fx.agents.done, []string{`net:ann key "Up"`, `net:ann key "Up"`})
	})
}

func TestTextIsForTheProtocolWhileItAcceptsText(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.commands, fx.agents.taken = keysCommands, true
		fx.writeToProtocol("ann", "ls -l  ")
		fx.writeToProtocol("ann", "/usr/bin/top")
		fx.awaitAndCheck("ann")
		fx.checkEqual("carried out", fx.agents.done, []string{`net:ann  "ls -l  "`, `net:ann  "/usr/bin/top"`})
		fx.checkEqual("records", fx.decisions(), []string{"command allowed", "command allowed"})
		fx.writeMessage("ann", "/status", "Nothing is running.")
		file := fx.message("ann", "look at this")
		file.Media = []string{"/somewhere/a.png"}
		fx.receive(file)
		fx.checkInbounds("ann", "ls -l   done", "/usr/bin/top done", "/status done", "look at this running")
	})
}

func TestTextWaitsForTheCommandBeforeIt(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.commands, fx.agents.takes = keysCommands, 500*time.Millisecond
		began := time.Now()
		fx.writeToProtocol("ann", "/key Up")
		fx.writeToProtocol("bob", "/key Up")
		fx.checkEqual("the commands held up the channel for", time.Since(began), time.Duration(0))
		fx.writeToProtocol("ann", "hello")
		fx.checkEqual("the text waited for", time.Since(began), 500*time.Millisecond)
		fx.awaitAndCheck("ann")
		fx.awaitAndCheck("bob")
		fx.agents.takes = time.Minute // longer than it may
		began = time.Now()
		fx.finishTurn("ann")
		fx.writeToProtocol("ann", "/key Up")
		fx.writeToProtocol("ann", "hello")
		fx.checkEqual("the text waited for", time.Since(began), time.Second)
		fx.awaitAndCheck("ann", "/key did not work: context deadline exceeded")
		fx.checkEqual("the command had", time.Since(began), 10*time.Second)
	})
}

func TestAReplyBringsItsScreenButtonsAndFiles(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		s := screen.New(10, 2)
		_, _ = s.Write([]byte("\x1b[31mred"))
		fx.agents.commands, fx.agents.reply = keysCommands, terminal.ControlReply{
			Screen: s.Snapshot(), Files: []terminal.ControlFile{{Name: "a.txt", Content: []byte("one")}, {Name: "a.txt", Content: []byte("two")}, {Name: "empty"}},
			Buttons: []terminal.ControlButton{{Label: "Up", Command: "/key Up"}, {Label: "Long", Command: "/key " + strings.Repeat("x", 60)}},
		}
		fx.writeToProtocol("ann", "/screen")
		sent := fx.awaitAndCheck("ann", "")
		fx.checkEqual("buttons", fmt.Sprint(sent[0].Out.Buttons), fmt.Sprint([]channels.Button{{Label: "Up", Data: "/key Up", Stays: true}}))
		posted := fx.outbox.posted[0]
		fx.checkEqual("files", posted.files, []string{"a.txt: one", "a.txt: two"})
		run := posted.screen.Rows[0][0]
		if run.Text != "red" || run.Foreground != channels.RGB(223, 95, 95) || *posted.screen.Cursor != (channels.ScreenCell{Col: 3}) {
			t.Errorf("the screen is %+v", posted.screen)
		}
		for _, path := range posted.paths {
			if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s stays (%v)", path, err)
			}
		}
	})
}

func TestThePersonIsToldWhyACommandWasNotCarriedOut(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.commands, fx.agents.err = keysCommands, errors.New("the terminal has ended.\nand more")
		fx.writeToProtocol("ann", "/key Up")
		fx.awaitAndCheck("ann", `/key did not work: the terminal has ended.`)
		fx.agents.err, fx.agents.panics = nil, true
		fx.writeToProtocol("ann", "/key Up")
		fx.awaitAndCheck("ann", `/key did not work: panic\: out of ideas.`)
		fx.checkEqual("logged", fx.logs.FilterMessage("command not carried out").Len(), 2)
	})
}

func TestAnEmptyReplyIsNotPosted(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.commands, fx.agents.reply = keysCommands, terminal.ControlReply{Buttons: []terminal.ControlButton{{Label: "Up", Command: "/key Up"}}}
		fx.writeToProtocol("ann", "/key Up")
		fx.awaitAndCheck("ann")
		fx.checkEqual("posted", len(fx.outbox.posted), 0)
	})
}

func TestStrangersAndTooManyMessagesCarryOutNothing(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.commands, fx.agents.taken = keysCommands, true
		fx.writeMessage("eve", "/key Up", "This bot is private.")
		fx.settings.RatePerMinute = 2
		for range 2 {
			fx.writeToProtocol("ann", "ls")
		}
		fx.writeMessage("ann", "ls", "That is more than 2 messages a minute.")
		fx.writeToProtocol("ann", "/key Up") // a command is still heard, as others are
		fx.writeMessage("ann", "/key Up")
		fx.awaitAndCheck("ann")
		fx.checkEqual("carried out", fx.agents.done, []string{`net:ann  "ls"`, `net:ann  "ls"`, `net:ann key "Up"`})
	})
}

func TestHelpAndTheMenuNameTheCommandsOfTheProtocol(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.agents.commands = keysCommands
		fx.about = map[string]terminal.AgentInfo{store.DefaultAgent: {Commands: []terminal.Command{{Name: "KEY", Help: "once"}, {Name: "review"}}}}
		fx.receiveInBackground(fx.message("ann", "/help"))
		if help := fx.checkStored(chatOf("ann"), "/stop")[0].Out.Text; !strings.Contains(help, "The agent's own commands:\n/key: send keys\n/screen: show the screen\n/review\n") {
			t.Error(help)
		}
		names := func(all []channels.Command) (names []string) {
			for _, c := range all {
				names = append(names, c.Name)
			}
			return names
		}
		fx.checkEqual("the agent's commands", names(fx.choice.AgentCommands(store.DefaultAgent, fx.about[store.DefaultAgent])), []string{"key", "screen", "review"})
		fx.checkEqual("the menu", names(fx.choice.Menu()), []string{"stop", "status", "new", "retry", "remind", "schedules", "verbose", "search", "usage", "whoami", "key", "screen", "help"})
		fx.settings.Agents["other"] = intake.Agent{Runner: &fakeAgents{}}
		fx.checkEqual("the menu with several agents", names(fx.choice.Menu()), []string{"stop", "status", "new", "retry", "remind", "schedules", "verbose", "search", "usage", "whoami", "agent", "help"})
	})
}
