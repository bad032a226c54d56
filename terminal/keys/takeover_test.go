package keys_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/keys"
)

// startTurn starts a turn in the background and returns a channel with its outcome.
func (r *fixture) startTurn(text string) <-chan terminal.Outcome {
	r.t.Helper()
	r.start()
	ended := make(chan terminal.Outcome, 1)
	go func() { ended <- r.runTurn(r.t.Context(), text) }()
	return ended
}

func TestAPersonTakesTheTerminalOverAndHandsItBack(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{
		encodeResponse("one", command{Keystrokes: "echo begun > begun; read line < go; echo $line > first\n", Duration: 3}, command{Keystrokes: "echo never > never\n"}),
		encodeResponse("two", command{Keystrokes: "echo agent > second\n", Duration: 0.5}),
		taskDone(""), taskDone("all done"),
	}})
	musttest.Do(t, makeFIFO(r.work+"/go"))
	// The agent responds only after the person has taken the terminal over.
	r.settings.Idle = 600
	ended := r.startTurn("work")
	r.awaitFile("begun")
	r.awaitFrame("the button Take over", func(f terminal.Frame) bool { return hasButton("Take over", "/take")(f) && !f.TakenOver })
	if reply := r.control("take", ""); !strings.Contains(reply.Text, "/give") {
		t.Errorf("told %q", reply.Text)
	}
	r.awaitFrame("the button Hand back", func(f terminal.Frame) bool { return hasButton("Hand back", "/give")(f) && f.TakenOver })
	musttest.Do(t, os.WriteFile(r.work+"/go", []byte("through\n"), 0o600))
	if reply := r.control("", "echo person > person"); reply.Text != "" || reply.Screen != nil {
		t.Errorf("while the board shows the screen, the reply is %+v", reply)
	}
	wanttest.Equal(t, "the person's file has", r.awaitFile("person"), "person\n")
	if reply := r.control("take", ""); !strings.Contains(reply.Text, "already") {
		t.Errorf("told %q", reply.Text)
	}
	r.control("give", "")
	if out := <-ended; out.Status != terminal.Done || r.lastText() != "all done" {
		t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
	if r.runner.AcceptsControl("cli:local", "") {
		t.Error("text is still typed")
	}
	told := r.requests()[1]
	if !strings.Contains(told, "- The user has typed into the terminal. Command 2 was not executed.") || !strings.Contains(told, "Current Terminal Screen:\n") || !strings.Contains(told, "echo person") {
		t.Errorf("the agent was told %q", told)
	}
	if _, err := os.Stat(r.work + "/never"); err == nil {
		t.Error("a command for an older screen was executed")
	}
}

func TestAPersonReadsTheTextsOfTheTerminalInTheirLanguage(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{
		encodeResponse("", command{Keystrokes: "echo begun > begun; cat go\n", Duration: 3}), taskDone(""), taskDone(""), taskDone(""),
	}})
	musttest.Do(t, makeFIFO(r.work+"/go"))
	r.words = (*words.Catalogue)(nil).For("de")
	ended := r.startTurn("work")
	r.awaitFile("begun")
	r.awaitFrame("the button", hasButton("Übernehmen", "/take"))
	if reply := r.control("take", ""); !strings.HasPrefix(reply.Text, "Das Terminal gehört dir: ") {
		t.Errorf("told %q", reply.Text)
	}
	r.awaitFrame("the button", hasButton("Zurückgeben", "/give"))
	musttest.Do(t, os.WriteFile(r.work+"/go", []byte("x\n"), 0o600))
	if reply := r.control("give", ""); reply.Text != "Der Agent macht weiter." {
		t.Errorf("told %q", reply.Text)
	}
	if out := <-ended; out.Status != terminal.Done || r.lastText() != "Fertig." {
		t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
}

func hasButton(label, command string) func(terminal.Frame) bool {
	return func(f terminal.Frame) bool {
		for _, b := range f.Buttons {
			if b.Label == label && b.Command == command {
				return true
			}
		}
		return false
	}
}

func TestAPersonWhoForgetsTheTerminalHandsItBack(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{
		encodeResponse("one", command{Keystrokes: "echo begun > begun\n", Duration: 0.1}, command{Keystrokes: "", Duration: 3}), encodeResponse("two", command{Keystrokes: "echo on > on\n", Duration: 0}), taskDone(""), taskDone(""),
	}})
	r.settings.Idle = 1
	r.config.Timeout = 600
	ended := r.startTurn("work")
	r.awaitFile("begun")
	r.control("take", "")
	if out := <-ended; out.Status != terminal.Done {
		t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
	r.awaitContent("on", "on\n")
	if told := r.requests()[1]; !strings.Contains(told, "The user has typed into the terminal.") {
		t.Errorf("the agent was told %q", told)
	}
}

func TestAnEndedTakeoverDoesNotAffectLaterResponses(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{
		encodeResponse("one", command{Keystrokes: "echo begun > begun; read x < go\n", Duration: 1}), encodeResponse("two", command{Keystrokes: "echo two > two\n", Duration: 0.3}), taskDone(""), taskDone(""),
	}})
	musttest.Do(t, makeFIFO(r.work+"/go"))
	ended := r.startTurn("work")
	r.awaitFile("begun")
	for range 3 {
		r.control("take", "")
		r.control("give", "")
	}
	r.control("take", "")
	musttest.Do(t, os.WriteFile(r.work+"/go", []byte("x\n"), 0o600))
	r.control("give", "")
	<-ended
	r.awaitContent("two", "two\n")
	told := r.requests()
	if !strings.Contains(told[1], "The user has typed") || strings.Contains(told[2], "The user has typed") {
		t.Errorf("told %q", told)
	}
}

func TestATerminalThatAPersonUsesIsKept(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{taskDone("")}})
	r.settings.MaxKept = 1
	r.runTurn(t.Context(), "open")
	r.control("take", "")
	r.control("", "x=kept")
	r.chat = "other" // whose terminal is one too many
	r.script(script{Responses: []string{taskDone("")}})
	r.runTurn(t.Context(), "open another")
	r.chat = "local"
	r.control("", "echo $x > out")
	r.awaitContent("out", "kept\n")
}

func TestInputPostponesTheEndOfATerminal(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{taskDone("")}})
	const idle = 2 * time.Second
	r.settings.Idle = int(idle.Seconds())
	// typesOn reports false if the machine was so busy that the terminal was idle for too long.
	typesOn := func() bool {
		lastUse := time.Now()
		r.runTurn(t.Context(), "open")
		r.control("take", "")
		for end := time.Now().Add(2 * idle); time.Now().Before(end); {
			if !r.runner.AcceptsControl("cli:local", "") {
				if unused := time.Since(lastUse); unused < idle {
					t.Fatalf("the terminal was closed %s after its last use", unused)
				}
				return false
			}
			lastUse = time.Now()
			musttest.Get(r.runner.Control(t.Context(), terminal.ControlRequest{Chat: "cli:local", Args: "true"}))(t)
		}
		return true
	}
	for !typesOn() {
		t.Log("the machine is busy")
	}
}

func TestStopDiscardsInputThatIsStillQueued(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{encodeResponse("", command{Keystrokes: "stty raw; echo begun > begun; sleep 1000\n", Duration: 1}, command{Keystrokes: strings.Repeat("echo bad >> bad\n", 10_000), Duration: 60})}})
	r.start()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan terminal.Outcome)
	go func() { ended <- r.runTurn(ctx, "work") }()
	r.awaitFile("begun")
	r.awaitScreen("echo bad >> bad^M") // the terminal echoes what the program does not read
	stop()
	<-ended
	r.control("type", "stty sane")
	r.control("type", "echo fine > fine")
	r.awaitContent("fine", "fine\n")
	if raw, err := os.ReadFile(r.work + "/bad"); err == nil {
		t.Errorf("%d bytes were written for an agent that was stopped", len(raw))
	}
}

func TestATerminalThatEveryProcessHasClosedEnds(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{encodeResponse("", command{Keystrokes: "exec sleep 1000 <&- >&- 2>&-\n", Duration: 30})}})
	if out := r.runTurn(t.Context(), "close"); out.Status != terminal.Failed || !strings.Contains(r.lastText(), "The shell of the terminal has ended") {
		t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
}

func TestANewConversationEndsTheTerminalAfterItsTurn(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{encodeResponse("", command{Keystrokes: "echo $$ > pid; read x < go\n", Duration: 0.1}), encodeResponse("", command{Keystrokes: "echo on > on\n", Duration: 0.3}), taskDone(""), taskDone("")}, After: []string{"", "go\n$"}})
	musttest.Do(t, makeFIFO(r.work+"/go"))
	r.settings.MaxSteps = 10_000
	ended := r.startTurn("work")
	pid := strings.TrimSpace(r.awaitFile("pid"))
	r.runner.EndSession("cli:local")
	musttest.Do(t, os.WriteFile(r.work+"/go", []byte("x\n"), 0o600))
	if out := <-ended; out.Status != terminal.Done {
		t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
	r.awaitContent("on", "on\n")
	r.awaitDeath(pid)
}

func TestKeysAndTextBetweenTurnsAreAnsweredWithTheScreen(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{taskDone("")}})
	r.start()
	for _, name := range []string{"screen", "key", "type", "take", "give"} {
		if reply := r.control(name, "x"); !strings.HasPrefix(reply.Text, "No terminal is open.") {
			t.Errorf("/%s without a terminal: %+v", name, reply)
		}
	}
	if reply := r.control("log", ""); len(reply.Files) > 0 || reply.Text == "" {
		t.Errorf("/log without a terminal: %+v", reply)
	}
	r.runTurn(t.Context(), "open")
	reply := r.control("type", "echo se''en")
	if reply.Screen == nil || !strings.Contains(screenText(terminal.Frame{Screen: reply.Screen}), "seen") || len(reply.Buttons) == 0 {
		t.Errorf("/type: %+v", reply)
	}
	// /key treats names of keys as keys and other words as text; /type treats everything as text.
	for _, step := range []struct{ command, args, shown string }{
		{"type", "cat", "$ cat\n"},
		{"key", "Enter1 Tab|", "Enter1Tab|"},
		{"key", "BSpace Enter", "Enter1Tab\nEnter1Tab\n"},
		{"type", "Enter", "\nEnter\nEnter\n"},
		{"key", "C-d", "Enter\n$"},
	} {
		r.control(step.command, step.args)
		r.awaitCurrentScreen(step.shown)
	}
	if reply := r.control("key", " "); !strings.Contains(reply.Text, "/key Escape :wq Enter") {
		t.Errorf("/key alone: %q", reply.Text)
	}
}

func TestTheScreenIsSentAsAPictureAndTheLogAsFiles(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{encodeResponse("I print ä", command{Keystrokes: "printf 'caf\\303\\251 \\033[31mred\\033[m\\n'\n", Duration: 0.5}), taskDone(""), taskDone("")}})
	r.runTurn(t.Context(), "print")
	reply := r.control("screen", "")
	if len(reply.Files) != 1 || reply.Screen == nil {
		t.Fatalf("/screen: %+v", reply)
	}
	image, err := png.DecodeConfig(bytes.NewReader(reply.Files[0].Content))
	if err != nil || image.Width < 1000 {
		t.Errorf("the picture: %+v, %v", image, err)
	}
	reply = r.control("log", "")
	if len(reply.Files) != 2 {
		t.Fatalf("/log: %d files", len(reply.Files))
	}
	dialogue := string(reply.Files[0].Content)
	for _, want := range []string{"print", "I print ä", "step 1: told to the agent", "Current Terminal Screen:"} {
		if !strings.Contains(dialogue, want) {
			t.Errorf("the dialogue lacks %q: %s", want, dialogue)
		}
	}
	lines := strings.Split(strings.TrimSpace(string(reply.Files[1].Content)), "\n")
	var header struct{ Version, Width, Height int }
	if err := json.Unmarshal([]byte(lines[0]), &header); err != nil || header.Version != 2 || header.Width != 160 || header.Height != 40 {
		t.Errorf("the recording begins with %s", lines[0])
	}
	output, last := "", 0.0
	for _, line := range lines[1:] {
		var event []any
		if err := json.Unmarshal([]byte(line), &event); err != nil || len(event) != 3 || event[1] != "o" || event[0].(float64) < last {
			t.Fatalf("the recording has %s", line)
		}
		last = event[0].(float64)
		output += event[2].(string)
	}
	if !strings.Contains(output, "café \x1b[31mred\x1b[m\r\n") {
		t.Errorf("the recording has %q", output)
	}
	r.runner.EndIdleAgent("cli:local")
	if reply := r.control("log", ""); len(reply.Files) > 0 {
		t.Error("the log outlives the conversation")
	}
}

func TestALogOutlivesItsTerminal(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{encodeResponse("", command{Keystrokes: "exit\n", Duration: 30})}})
	r.runTurn(t.Context(), "leave")
	if reply := r.control("log", ""); len(reply.Files) != 2 {
		t.Errorf("/log: %+v", reply)
	}
	r.chat = "other"
	if reply := r.control("log", ""); len(reply.Files) != 0 {
		t.Error("another chat has this one's log")
	}
}

func TestALongRecordingKeepsItsEnd(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{
		encodeResponse("", command{Keystrokes: "seq 1 200000; echo fi''nished; touch done\n", Duration: 1}), encodeResponse("", command{Keystrokes: "", Duration: 1}), taskDone(""), taskDone(""),
	}})
	r.runTurn(t.Context(), "count")
	r.control("type", "until test -e done; do sleep 0.1; done; echo la''st")
	r.awaitCurrentScreen("last")
	cast := r.control("log", "").Files[1].Content
	if len(cast) > 3<<20 || !bytes.Contains(cast, []byte("finished")) {
		t.Errorf("the recording has %d bytes", len(cast))
	}
	if !bytes.HasPrefix(cast[bytes.IndexByte(cast, '\n')+1:], []byte(`[0.000, "o", "\u001b[2J`)) {
		t.Errorf("the recording begins with %.200q", cast)
	}
}

// awaitCurrentScreen waits until /screen shows a text.
func (r *fixture) awaitCurrentScreen(text string) {
	r.t.Helper()
	r.awaitCondition("a screen with "+text, func() bool {
		return strings.Contains(screenText(terminal.Frame{Screen: r.control("screen", "").Screen}), text)
	})
}

// newScreen returns a fixture of the protocol screen: a program without an agent.
func newScreen(t *testing.T, program string) *fixture {
	t.Helper()
	r := newFixture(t, script{})
	r.config.Command = program
	r.protocol = keys.NewScreen(r.config)
	return r
}

func TestAScreenTypesMessagesAndShowsTheScreenInTheChat(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "exec bash")
	if out := r.runTurn(t.Context(), "echo $((40+2))"); out.Status != terminal.Done {
		t.Errorf("ended %s", out.Status)
	}
	message := r.awaitFrame("the last screen", func(f terminal.Frame) bool { return f.Kind == terminal.Message })
	if text := screenText(message); !strings.Contains(text, "$ echo $((40+2))\n42\n$") {
		t.Errorf("the screen is %q", text)
	}
	if fmt.Sprint(message.Buttons) != "[{⏎ /key Enter} {Esc /key Escape} {Tab /key Tab} {↑ /key Up} {↓ /key Down} {^C /key C-c} {… /key …}]" {
		t.Errorf("the buttons are %v", message.Buttons)
	}
	// A message between turns gets a turn, which interprets /key.
	if r.runner.AcceptsControl("cli:local", "key") || r.runner.AcceptsControl("cli:local", "") {
		t.Error("a key between turns would not be shown")
	}
	r.runTurn(t.Context(), "/key Up Enter")
	r.awaitScreen("42\n$ echo $((40+2))\n42\n$")
	if out := r.runTurn(t.Context(), "exit 7"); out.Status != terminal.Failed || !strings.Contains(r.lastText(), "The program has ended (exit status 7).") {
		t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
}

func TestAMessageDuringTheLastScreenOfATurnIsNotLeftToTheTurn(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "exec bash")
	accepts := false
	r.onFrame = func(f terminal.Frame) {
		if f.Kind == terminal.Message {
			accepts = r.runner.AcceptsControl("cli:local", "")
		}
	}
	r.runTurn(t.Context(), "echo one")
	if accepts {
		t.Error("the turn would not show what it accepts")
	}
}

func TestStopWaitsForNoInputThatTheProgramDoesNotRead(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "trap '' INT; stty raw; while :; do printf '\\rtick'; sleep 0.2; done")
	r.start()
	turn, stop := context.WithCancel(t.Context())
	ended := make(chan terminal.Outcome)
	go func() { ended <- r.runTurn(turn, "/screen") }()
	r.awaitScreen("tick")
	inputs, cancel := context.WithCancel(t.Context())
	var begun, waiting sync.WaitGroup
	var left atomic.Int32
	for range 10 {
		left.Add(1)
		begun.Add(1)
		waiting.Go(func() {
			begun.Done()
			_, _ = r.runner.Control(inputs, terminal.ControlRequest{Chat: "cli:local", Args: strings.Repeat("x", 100_000), Words: r.words})
			left.Add(-1)
		})
	}
	begun.Wait()
	r.awaitScreen("xxxx") // the terminal echoes what the program does not read
	stop()
	if <-ended; left.Load() == 0 {
		t.Error("all input was typed first")
	}
	cancel()
	waiting.Wait()
}

func TestMessagesToAProgramThatStartsSlowlyAreTypedInOrder(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "sleep 1; echo be''gun; while read -r line; do echo $line >> typed; done")
	ended := r.startTurn("one")
	r.awaitCondition("the terminal", func() bool { return r.runner.AcceptsControl("cli:local", "") })
	r.control("", "two")
	<-ended
	r.awaitContent("typed", "one\ntwo\n")
}

func TestAFileWithoutTextTypesNothing(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "echo Sure?; read -r line; echo answered >> typed; exec cat")
	r.media = []string{r.work + "/photo.png"}
	r.runTurn(t.Context(), "")
	if !strings.Contains(r.lastText(), "/photo.png") {
		t.Errorf("told %q", r.lastText())
	}
	if _, err := os.Stat(r.work + "/typed"); err == nil {
		t.Error("something was typed")
	}
}

func TestAPasswordIsNotInTheLog(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "stty -echo; echo Password:; read -r secret; stty echo; echo $secret > typed; exec cat")
	r.runTurn(t.Context(), "hush-hush")
	r.awaitContent("typed", "hush-hush\n")
	if dialogue := r.control("log", "").Files[0].Content; bytes.Contains(dialogue, []byte("hush")) || !bytes.Contains(dialogue, []byte("(not shown")) {
		t.Errorf("the log has %s", dialogue)
	}
}

func TestStopBetweenTurnsInterruptsTheProgram(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "exec bash")
	r.runTurn(t.Context(), "sleep 1000; echo $? > status")
	if n, _ := r.runner.StopCommands("cli:local"); n != 1 {
		t.Errorf("%d commands were stopped", n)
	}
	r.runTurn(t.Context(), "echo fine > fine")
	r.awaitContent("fine", "fine\n")
	if n, _ := r.runner.StopCommands("cli:local"); n != 0 {
		t.Errorf("%d commands were stopped while only the shell runs", n)
	}
}

func TestKeysReachAProgramThatIsNeverQuiet(t *testing.T) {
	t.Parallel()
	// On a busy machine, read may time out after a part of the line.
	r := newScreen(t, `while :; do printf '\rtick %s' $((n=n+1)); read -t 0.05 part; all=$all$part; [ "$all" = stop ] && exit 0; done`)
	r.config.Shell = "/bin/bash"
	r.protocol = keys.NewScreen(r.config)
	ended := r.startTurn("/screen")
	r.awaitScreen("tick")
	r.control("", "stop")
	if out := <-ended; out.Status != terminal.Done || !strings.Contains(r.lastText(), "The program has ended (exit status 0).") {
		t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
}

func TestAProgramThatIsNeverQuietOutlivesItsTurn(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "while :; do printf '\rtick'; sleep 0.05; done")
	r.config.Timeout = 2
	if out := r.runTurn(t.Context(), "/screen"); out.Status != terminal.Done {
		t.Errorf("ended %s: %s", out.Status, r.lastText())
	}
	if len(r.runner.IdleAgents()) != 1 {
		t.Error("the program has ended")
	}
}
