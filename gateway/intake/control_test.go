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
func (r *fixture) receiveInBackground(in channels.Incoming) {
	r.t.Helper()
	if err := r.Receive(r.t.Context(), in); err != nil {
		r.t.Fatalf("%q: %v", in.Text+in.Press, err)
	}
}

// writeToProtocol receives a message of a person for the protocol.
func (r *fixture) writeToProtocol(user, text string) {
	r.t.Helper()
	r.receiveInBackground(r.message(user, text))
}

// awaitAndCheck waits until intake is idle, and checks the messages to a chat.
func (r *fixture) awaitAndCheck(user string, want ...string) []store.Delivery {
	r.t.Helper()
	r.IdleControls(r.t.Context())
	synctest.Wait()
	return r.checkStored(chatOf(user), want...)
}

func TestACommandOfTheProtocolIsCarriedOutOnceAndSettled(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.commands, r.agents.reply = keysCommands, terminal.ControlReply{Text: "Pressed."}
		in := r.message("ann", " /KEY  Up Enter")
		r.receiveInBackground(in)
		r.awaitAndCheck("ann", "Pressed.")
		r.checkEqual("the reply is silent", r.outbox.posted[0].silent, true)
		r.receiveInBackground(in) // delivered again
		r.awaitAndCheck("ann")
		r.checkEqual("carried out", r.agents.done, []string{`net:ann key "Up Enter"`})
		r.checkInbounds("ann", " /KEY  Up Enter done")
		r.checkEqual("records", r.decisions(), []string{"command allowed /key"})
	})
}

func TestAProtocolsCommandReachesTheAgentOfTheTurnThatRunsElseTheChosenOne(t *testing.T) {
	runIntake(t, func(r *fixture) {
		other := &fakeAgents{fakeController: fakeController{commands: keysCommands}}
		r.settings.Agents["other"] = intake.Agent{Runner: other}
		r.writeMessage("ann", "/key Up") // the default agent has no such command
		r.finishTurn("ann")
		r.checkEqual("carried out between turns", len(other.done), 0)
		r.writeMessage("ann", "/agent other", "Your next message goes to other.")
		r.writeToProtocol("ann", "/key Up")
		r.awaitAndCheck("ann")
		r.checkEqual("carried out by the chosen one", other.done, []string{`net:ann key "Up"`})
		running := &fakeController{commands: keysCommands}
		r.lanes.controller = running
		r.writeMessage("ann", "work")
		r.writeToProtocol("ann", "/key Down")
		r.awaitAndCheck("ann")
		r.checkEqual("carried out by that of the turn", running.done, []string{`net:ann key "Down"`})
		r.checkEqual("the board is buried", r.runningTurn("ann").boardMoves, 1)
		r.finishTurn("ann")
		r.lanes.controller = &fakeController{} // of a turn whose agent has no commands
		r.writeMessage("ann", "work on")
		r.writeToProtocol("ann", "/key Left")
		r.awaitAndCheck("ann")
		r.checkEqual("carried out by the chosen one meanwhile", other.done, []string{`net:ann key "Up"`, `net:ann key "Left"`})
	})
}

func TestAMessageThatTheProtocolDoesNotAcceptGetsATurn(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.commands, r.agents.declines = keysCommands, map[string]bool{"key": true}
		r.pressButton("ann", "/key Up")
		r.checkEqual("carried out", len(r.agents.done), 0)
		r.checkInbounds("ann", "/key Up running")
		if in := r.runningTurn("ann").inbound.In; in.Text != "/key Up" || in.Press != "" {
			t.Errorf("the turn sees %+v", in)
		}
		r.finishTurn("ann")
		r.writeMessage("ann", "hello")
		r.checkInbounds("ann", "/key Up done", "hello running")
	})
}

func TestAPressCarriesOutACommandAsOftenAsItIsMade(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.commands = keysCommands
		for _, data := range []string{"/key Up", "/key Up", "/nosuch"} {
			in := r.message("ann", "")
			in.Press = data
			r.receiveInBackground(in)
		}
		r.awaitAndCheck("ann")
		r.checkEqual("carried out", r.agents.done, []string{`net:ann key "Up"`, `net:ann key "Up"`})
	})
}

func TestTextIsForTheProtocolWhileItAcceptsText(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.commands, r.agents.taken = keysCommands, true
		r.writeToProtocol("ann", "ls -l  ")
		r.writeToProtocol("ann", "/usr/bin/top")
		r.awaitAndCheck("ann")
		r.checkEqual("carried out", r.agents.done, []string{`net:ann  "ls -l  "`, `net:ann  "/usr/bin/top"`})
		r.checkEqual("records", r.decisions(), []string{"command allowed", "command allowed"})
		r.writeMessage("ann", "/status", "Nothing is running.")
		file := r.message("ann", "look at this")
		file.Media = []string{"/somewhere/a.png"}
		r.receive(file)
		r.checkInbounds("ann", "ls -l   done", "/usr/bin/top done", "/status done", "look at this running")
	})
}

func TestTextWaitsForTheCommandBeforeIt(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.commands, r.agents.takes = keysCommands, 500*time.Millisecond
		began := time.Now()
		r.writeToProtocol("ann", "/key Up")
		r.writeToProtocol("bob", "/key Up")
		r.checkEqual("the commands held up the channel for", time.Since(began), time.Duration(0))
		r.writeToProtocol("ann", "hello")
		r.checkEqual("the text waited for", time.Since(began), 500*time.Millisecond)
		r.awaitAndCheck("ann")
		r.awaitAndCheck("bob")
		r.agents.takes = time.Minute // longer than it may
		began = time.Now()
		r.finishTurn("ann")
		r.writeToProtocol("ann", "/key Up")
		r.writeToProtocol("ann", "hello")
		r.checkEqual("the text waited for", time.Since(began), time.Second)
		r.awaitAndCheck("ann", "/key did not work: context deadline exceeded")
		r.checkEqual("the command had", time.Since(began), 10*time.Second)
	})
}

func TestAReplyBringsItsScreenButtonsAndFiles(t *testing.T) {
	runIntake(t, func(r *fixture) {
		s := screen.New(10, 2)
		_, _ = s.Write([]byte("\x1b[31mred"))
		r.agents.commands, r.agents.reply = keysCommands, terminal.ControlReply{
			Screen: s.Snapshot(), Files: []terminal.ControlFile{{Name: "a.txt", Content: []byte("one")}, {Name: "a.txt", Content: []byte("two")}, {Name: "empty"}},
			Buttons: []terminal.ControlButton{{Label: "Up", Command: "/key Up"}, {Label: "Long", Command: "/key " + strings.Repeat("x", 60)}},
		}
		r.writeToProtocol("ann", "/screen")
		sent := r.awaitAndCheck("ann", "")
		r.checkEqual("buttons", fmt.Sprint(sent[0].Out.Buttons), fmt.Sprint([]channels.Button{{Label: "Up", Data: "/key Up", Stays: true}}))
		posted := r.outbox.posted[0]
		r.checkEqual("files", posted.files, []string{"a.txt: one", "a.txt: two"})
		run := posted.screen.Rows[0][0]
		if run.Text != "red" || run.Foreground != channels.RGB(205, 0, 0) || *posted.screen.Cursor != (channels.ScreenCell{Col: 3}) {
			t.Errorf("the screen is %+v", posted.screen)
		}
		for _, path := range posted.paths {
			if _, err := os.Stat(filepath.Dir(filepath.Dir(path))); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s stays (%v)", path, err)
			}
		}
	})
}

func TestThePersonIsToldWhyACommandWasNotCarriedOut(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.commands, r.agents.err = keysCommands, errors.New("the terminal has ended.\nand more")
		r.writeToProtocol("ann", "/key Up")
		r.awaitAndCheck("ann", `/key did not work: the terminal has ended.`)
		r.agents.err, r.agents.panics = nil, true
		r.writeToProtocol("ann", "/key Up")
		r.awaitAndCheck("ann", `/key did not work: panic\: out of ideas.`)
		r.checkEqual("logged", r.logs.FilterMessage("command not carried out").Len(), 2)
	})
}

func TestAnEmptyReplyIsNotPosted(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.commands, r.agents.reply = keysCommands, terminal.ControlReply{Buttons: []terminal.ControlButton{{Label: "Up", Command: "/key Up"}}}
		r.writeToProtocol("ann", "/key Up")
		r.awaitAndCheck("ann")
		r.checkEqual("posted", len(r.outbox.posted), 0)
	})
}

func TestStrangersAndTooManyMessagesCarryOutNothing(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.commands, r.agents.taken = keysCommands, true
		r.writeMessage("eve", "/key Up", "This bot is private.")
		r.settings.RatePerMinute = 2
		for range 2 {
			r.writeToProtocol("ann", "ls")
		}
		r.writeMessage("ann", "ls", "That is more than 2 messages a minute.")
		r.writeToProtocol("ann", "/key Up") // a command is still heard, as others are
		r.writeMessage("ann", "/key Up", "That is more than 2 messages a minute.")
		r.awaitAndCheck("ann")
		r.checkEqual("carried out", r.agents.done, []string{`net:ann  "ls"`, `net:ann  "ls"`, `net:ann key "Up"`})
	})
}

func TestHelpAndTheMenuNameTheCommandsOfTheProtocol(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.agents.commands = keysCommands
		r.about = map[string]terminal.AgentInfo{store.DefaultAgent: {Commands: []terminal.Command{{Name: "KEY", Help: "once"}, {Name: "review"}}}}
		r.receiveInBackground(r.message("ann", "/help"))
		if help := r.checkStored(chatOf("ann"), "/stop")[0].Out.Text; !strings.Contains(help, "The agent's own commands:\n/key: send keys\n/screen: show the screen\n/review\n") {
			t.Error(help)
		}
		names := func(all []channels.Command) (names []string) {
			for _, c := range all {
				names = append(names, c.Name)
			}
			return names
		}
		r.checkEqual("the agent's commands", names(r.choice.AgentCommands(store.DefaultAgent, r.about[store.DefaultAgent])), []string{"key", "screen", "review"})
		r.checkEqual("the menu", names(r.choice.Menu()), []string{"stop", "status", "new", "retry", "verbose", "whoami", "key", "screen", "help"})
		r.settings.Agents["other"] = intake.Agent{Runner: &fakeAgents{}}
		r.checkEqual("the menu with several agents", names(r.choice.Menu()), []string{"stop", "status", "new", "retry", "verbose", "whoami", "agent", "help"})
	})
}
