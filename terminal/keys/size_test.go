package keys_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// lastMessage returns the newest message of the turns.
func (r *fixture) lastMessage() terminal.Frame {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.frames) - 1; i >= 0; i-- {
		if r.frames[i].Kind == terminal.Message {
			return r.frames[i]
		}
	}
	r.t.Fatal("there is no message")
	return terminal.Frame{}
}

func (r *fixture) checkSize(when string, cols, rows int) {
	r.t.Helper()
	m := r.lastMessage()
	if m.Screen == nil {
		r.t.Fatalf("%s no screen is shown but %q", when, m.Text)
	}
	wanttest.Equal(r.t, when+" the screen has", fmt.Sprint(m.Screen.Cols, "x", m.Screen.Rows), fmt.Sprint(cols, "x", rows))
}

func TestTheTerminalOfAPersonHasTheSizeThatTheyChoose(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "exec bash")
	r.runTurn(t.Context(), "echo hello")
	r.checkSize("at first", 80, 24)
	r.runTurn(t.Context(), "/size 100x30")
	r.checkSize("with /size", 100, 30)
	r.runTurn(t.Context(), "stty size")
	if text := screenText(r.lastMessage()); !strings.Contains(text, "\n30 100\n") {
		t.Errorf("the program sees %q", text)
	}
	for _, wrong := range []string{"", "big", "100", "19x30", "100x4", "501x30", "100x201", "500x200", "100x30x2"} {
		r.runTurn(t.Context(), "/size "+wrong)
		if m := r.lastMessage(); m.Screen != nil || !strings.Contains(m.Text, "20 to 500 columns and 5 to 200 rows, at most 80000 characters") {
			t.Errorf("/size %s is answered %q", wrong, m.Text)
		}
	}
	r.runner.EndSession("cli:local")
	r.runTurn(t.Context(), "echo again")
	r.checkSize("in a new terminal", 100, 30)
	r.room = "60x20"
	r.runTurn(t.Context(), "echo small")
	r.checkSize("although the page is small", 100, 30)
	r.runTurn(t.Context(), "/size auto")
	r.checkSize("on a small page", 60, 20)
	r.room = ""
	r.runTurn(t.Context(), "/key Enter")
	r.checkSize("after a button", 60, 20)
	r.runTurn(t.Context(), "/size auto")
	r.checkSize("without a page", 80, 24)
}

func TestTheSizeThatIsChosenDuringATurnStays(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "exec bash")
	ended := r.startTurn("echo beg''un; while [ ! -e go ]; do echo; sleep 0.1; done")
	r.awaitFrame("the loop", func(f terminal.Frame) bool { return f.Screen != nil && strings.Contains(screenText(f), "begun") })
	if reply := r.control("size", "1x1"); !strings.Contains(reply.Text, "20 to 500 columns") {
		t.Errorf("told %q", reply.Text)
	}
	r.control("size", "90x10")
	r.awaitFrame("the new size", func(f terminal.Frame) bool { return f.Screen != nil && f.Screen.Cols == 90 })
	r.room = "42x20"
	r.control("size", "auto")
	r.awaitFrame("the size of the page", func(f terminal.Frame) bool { return f.Screen != nil && f.Screen.Cols == 42 && f.Screen.Rows == 20 })
	r.control("size", "90x10")
	r.control("type", "")
	musttest.Do(t, os.WriteFile(r.work+"/go", nil, 0o600))
	<-ended
	r.checkSize("at the end", 90, 10)
	wanttest.Equal(t, "stored is", r.memory[terminal.LastingMemory], "90x10")
}

func TestAButtonShowsTheOtherKeys(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "exec bash")
	for _, want := range []string{"← → PgUp PgDn ⤢ …", "⏎ Esc Tab ↑ ↓ ^C …"} {
		r.runTurn(t.Context(), "/key …")
		var labels []string
		for _, b := range r.lastMessage().Buttons {
			labels = append(labels, b.Label)
		}
		wanttest.Equal(t, "the keys are", strings.Join(labels, " "), want)
	}
	if text := screenText(r.lastMessage()); strings.Contains(text, "…") {
		t.Errorf("it was typed: %q", text)
	}
}

func TestThePictureOfAScreenNamesTheCharactersThatItLacks(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "exec bash")
	r.runTurn(t.Context(), "echo \ue5f1 plain")
	if reply := r.control("screen", ""); !strings.Contains(reply.Text, "lacks these characters: \ue5f1. ") || len(reply.Files) != 1 {
		t.Errorf("the reply is %q", reply.Text)
	}
}
