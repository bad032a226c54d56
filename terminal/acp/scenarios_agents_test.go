//go:build agents

package acp_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func checkAnswer(p *realPerson) {
	p.expectAnswer(promptAnswer, "Here is **the answer**.")
	session := p.memory.s
	p.expectAnswer(promptAnswer, "Here is **the answer**.")
	if session == "" || p.memory.s != session || p.processes() != 1 {
		p.t.Errorf("the session changed from %q to %q, with %d processes", session, p.memory.s, p.processes())
	}
}

// The beginnings of options that refuse and that permit something once.
var (
	refusals    = []string{"reject"}
	permissions = []string{"allow once"}
)

// checkPermission refuses a command and then permits it.
func checkPermission(p *realPerson) {
	made := p.path("made.txt")
	for _, answers := range [][]string{refusals, permissions} {
		p.answers, p.questions = answers, nil
		p.send(promptRun)
		if len(p.questions) != 1 || !strings.Contains(p.questions[0].Text, "printf 'RESULT-OF-") || !p.questions[0].Approval {
			p.t.Errorf("asked %+v", p.questions)
		}
		if _, err := os.Stat(made); (err == nil) != slices.Equal(answers, permissions) {
			p.t.Errorf("after the answer %q: %v", answers, err)
		}
	}
	p.expectAnswer(promptAnswer, "Here is **the answer**.")
}

// checkOutput looks for the output of a command in the board.
func checkOutput(p *realPerson) {
	p.answers = permissions
	h := p.send(promptRun)
	shown := func(text string) bool {
		return slices.ContainsFunc(h.frames, func(f terminal.Frame) bool { return f.Kind == terminal.Progress && strings.Contains(f.Text, text) })
	}
	if !shown("printf 'RESULT-OF-") || !shown("RESULT-OF-COMMAND") {
		p.t.Errorf("the board showed %s", h.text(terminal.Progress))
	}
}

// checkStop stops a turn in the middle of the model's reply and continues with the same process.
func checkStop(p *realPerson) {
	ctx, stop := context.WithCancel(p.t.Context())
	defer stop()
	show := p.onFrame
	p.onFrame = func(f terminal.Frame) {
		show(f)
		if shows(f, "I begin") {
			stop()
		}
	}
	p.sendUntil(ctx, promptHang).expectError(terminal.Stopped, "Stopped.")
	p.onFrame = show
	p.expectAnswer(promptAnswer, "Here is **the answer**.")
	wanttest.Equal(p.t, "processes:", p.processes(), 1)
}

// checkResume kills everything that the agent has started, and continues the conversation.
func checkResume(p *realPerson) {
	p.expectAnswer(promptRemember, "Noted.")
	session := p.memory.s
	eventually(p.t, "the agent has stored the conversation", func() bool { return stores(p.home, "Noted.") })
	musttest.Do(p.t, syscall.Kill(-p.pids[0], syscall.SIGKILL))
	eventually(p.t, "the agent is gone", func() bool { return !processExists(p.pids[0]) })
	if p.agent.stored != nil {
		p.agent.stored(p)
	}
	h := p.expectAnswer(promptRecall, "It was a pelican.")
	if p.memory.s != session || strings.Contains(h.text(terminal.Message), newSessionNotice) {
		p.t.Errorf("the session changed from %s to %s: %s", session, p.memory.s, h.text(terminal.Message))
	}
}

// stores reports whether a file below a folder contains a text.
func stores(folder, text string) bool {
	found := false
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			content, _ := os.ReadFile(path)
			found = found || bytes.Contains(content, []byte(text))
		}
		return nil
	})
	return found
}

// checkMode changes the mode, lets the idle agent be ended, and looks at the mode of the next
// process.
func checkMode(p *realPerson) {
	p.expectAnswer(promptAnswer, "Here is **the answer**.")
	if h := p.send("/mode " + p.agent.mode); h.out.Status != terminal.Done {
		p.t.Fatalf("%+v %s", h.out, h.text(terminal.Error))
	}
	p.protocol.Agents.IdleTime = time.Millisecond
	p.expectAnswer(promptAnswer, "Here is **the answer**.")
	eventually(p.t, "the idle agent is ended", func() bool { return !processExists(p.pids[0]) })
	if p.agent.stored != nil {
		p.agent.stored(p)
	}
	p.expectAnswer(promptAnswer, "Here is **the answer**.")
	h := p.send("/mode")
	if text := h.text(terminal.Message); !strings.Contains(strings.ToLower(text), "✓ "+p.agent.mode) {
		p.t.Errorf("/mode: %s", text)
	}
}

func checkQuestion(p *realPerson) {
	p.answers = []string{"sqlite"}
	if p.agent.ask != "" {
		p.send(p.agent.ask)
	}
	p.expectAnswer(promptAsk, "The person chose SQLite.")
	if len(p.questions) != 1 || !strings.Contains(p.questions[0].Text, "Which database?") {
		p.t.Errorf("asked %+v", p.questions)
	}
	if p.agent.ownText {
		p.text = "MariaDB"
		p.expectAnswer(promptAsk, "The person chose MariaDB.")
	}
}

// checkFiles sends the files that the answer links to.
func checkFiles(p *realPerson) {
	var picture bytes.Buffer
	musttest.Do(p.t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))))
	for name, content := range map[string][]byte{"chart.png": picture.Bytes(), "report.txt": []byte("All is well.\n")} {
		musttest.Do(p.t, os.WriteFile(p.path(name), content, 0o600))
	}
	var sent []string
	for _, f := range p.send(promptLink).frames {
		for _, file := range f.Checked {
			sent = append(sent, filepath.Base(file.Path))
		}
	}
	if slices.Sort(sent); !slices.Equal(sent, []string{"chart.png", "report.txt"}) {
		p.t.Errorf("sent %q", sent)
	}
}

// checkSteering writes another message while the agent waits for permission to run a command.
func checkSteering(p *realPerson) {
	p.answers, p.injections = permissions, make(chan terminal.Injection, 1)
	read, answer := 0, p.ask
	p.ask = func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
		p.injections <- terminal.Injection{Text: promptAnswer, MarkRead: func() { read++ }}
		eventually(p.t, "the message is sent", func() bool { return len(p.injections) == 0 })
		return answer(ctx, q)
	}
	h := p.expectAnswer(promptRun, "Here is **the answer**.")
	if read != 1 || h.out.Unread != 0 || p.processes() != 1 {
		p.t.Errorf("%d messages were read and %d not, by %d processes", read, h.out.Unread, p.processes())
	}
}
