package gateway_test

import (
	"strconv"
	"strings"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/acp"
)

// leaveCommand starts a turn whose agent runs a command itself, stops the turn and returns the PID
// of the command, which the agent leaves running. The command would write the file late in the end.
func (fx *fixture) leaveCommand() (pid int) {
	fx.t.Helper()
	command := "echo $$ > pid.new; mv pid.new pid; sleep 600; echo x > late"
	fx.net.UserWrites("1", "u", "tool t execute "+command+"\nstatus t in_progress\nchild "+command+"\nawait")
	fx.awaitFile("pid")
	fx.net.UserWrites("1", "u", "/stop")
	stopped := fx.awaitText("1", "Stopped.\nStill running: `echo $$ > pid.new; mv pid.new pid; sleep 600")
	wanttest.Equal(fx.t, "the buttons of the end:", strings.Join(stopped.Buttons, " "), "stop:1")
	fx.awaitIdle("1")
	pid, _ = strconv.Atoi(strings.TrimSpace(fx.readWorkspace("pid")))
	return pid
}

func TestAPersonEndsWhatAStoppedTurnHasLeftRunning(t *testing.T) {
	t.Parallel()
	fx := newACPFixture(t, "-resume").start()
	pid := fx.leaveCommand()
	fx.net.UserWrites("1", "u", "/status")
	if got := fx.awaitText("1", "Waiting: 0").Text; !strings.HasPrefix(got, "Still running: `echo $$") {
		t.Errorf("the status is %q", got)
	}
	fx.net.UserWrites("1", "u", "say next\nuntil "+fx.dir+"/go")
	fx.awaitText("1", "next") // on the board
	if !isAlive(pid) {
		t.Fatal("the command was ended by another message")
	}
	fx.net.UserPresses("1", "u", "stop:1") // does not end the next turn
	fx.awaitText("1", "1 command stopped.")
	if isAlive(pid) || fx.fileExists("late") {
		t.Error("the command runs on")
	}
	fx.touchFile("go")
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "history")
	fx.awaitText("1", "prompts so far: 3")
	fx.net.UserPresses("1", "u", "stop:1")
	fx.awaitText("1", "That has ended already.")
}

func TestASecondStopEndsWhatAStoppedTurnHasLeftRunning(t *testing.T) {
	t.Parallel()
	fx := newACPFixture(t, "-resume").start()
	pid := fx.leaveCommand()
	fx.net.UserWrites("1", "u", "/stop")
	fx.awaitText("1", "1 command stopped.")
	if isAlive(pid) || fx.fileExists("late") {
		t.Error("the command runs on")
	}
}

func TestNothingOfAStoppedTurnIsLeftRunningAfterARestart(t *testing.T) {
	t.Parallel()
	fx := newACPFixture(t, "-resume").start()
	pid := fx.leaveCommand()
	fx.stop()
	fx.protocol = acp.New(terminal.OpenOptions{Config: fx.terminal})
	fx.start()
	fx.net.UserPresses("1", "u", "stop:1")
	fx.awaitText("1", "That has ended already.")
	if isAlive(pid) || fx.fileExists("late") {
		t.Error("the command runs on")
	}
	fx.net.UserWrites("1", "u", "history")
	fx.awaitText("1", "prompts so far: 2")
}
