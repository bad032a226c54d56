package acp_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// ringing returns the messages that notify, and how many there are in all.
func (h *turnResult) ringing() (texts []string, all int) {
	for _, f := range h.frames {
		if f.Kind != terminal.Message {
			continue
		}
		if all++; !f.Silent {
			texts = append(texts, f.Text)
		}
	}
	return texts, all
}

// said returns the agent's remarks and messages.
func (h *turnResult) said() string {
	var all []string
	for _, f := range h.frames {
		if f.Fold == nil {
			continue
		}
		for line := range strings.Lines(f.Fold.Details) {
			if remark, ok := strings.CutPrefix(line, "💬 "); ok {
				all = append(all, remark)
			}
		}
	}
	return strings.Join(append(all, h.text(terminal.Message)), "\n")
}

// fold returns the summary of the turn, which is part of its last board and comes before the last
// messages.
func (h *turnResult) fold() terminal.Fold {
	h.t.Helper()
	var fold *terminal.Fold
	for _, f := range h.frames {
		if f.Kind == terminal.Progress {
			if !f.Board || fold != nil {
				h.t.Errorf("progress %+v", f)
			}
			fold = f.Fold
		}
	}
	if fold == nil {
		h.t.Fatal("there is no summary")
		return terminal.Fold{}
	}
	return *fold
}

func TestATurnOfTwentyToolCallsLeavesASummaryAndTheAnswer(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	script.WriteString("plan completed:look; in_progress:edit\n")
	for i := range 20 {
		fmt.Fprintf(&script, "say I look at part %d.\ntool t%d execute make part%d\n", i, i, i)
		content := fmt.Sprintf(`[{"type":"content","content":{"type":"text","text":"one\ntwo\nthree\noutput %d"}}]`, i)
		if i%5 == 0 {
			content = fmt.Sprintf(`[{"type":"diff","path":"/p/f%d.go","oldText":"a\n","newText":"b\n"}]`, i)
		}
		fmt.Fprintf(&script, "status t%d completed %s\n", i, content)
	}
	script.WriteString(`raw {"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.12,"currency":"USD"}}` + "\nsay All parts are **made**.")
	p := newFixture(t, "").person("a")
	h := p.send(script.String()).expect(terminal.Done, "All parts are **made**.")
	if rings, all := h.ringing(); all != 1 || len(rings) != 1 {
		t.Errorf("%d messages, of which %q notify", all, rings)
	}
	fold := h.fold()
	if fold.Steps != 20 || fold.Files != 4 || fold.Cost != "$0.12" {
		t.Errorf("the summary is %+v", fold)
	}
	for _, want := range []string{
		"☑ look\n◐ edit\n\n", "💬 I look at part 0.\n💻 make part0 ✓\n", "💻 make part1 ✓\n│ `two`\n│ `three`\n│ `output 1`\n💬 I look at part 2.\n",
		"✏️ 4 files changed, +4 −4\n`/p/f0.go` · +1 −1\n", "-a\n+b\n",
	} {
		if !strings.Contains(fold.Details, want) {
			t.Errorf("the details lack %q:\n%s", want, fold.Details)
		}
	}
	steps := 0
	for _, f := range h.frames {
		if f.Kind == terminal.Partial {
			t.Errorf("a short text was streamed: %q", f.Text)
		}
		if f.Kind == terminal.Progress && f.Step < steps {
			t.Errorf("step %d comes after %d", f.Step, steps)
		}
		steps = max(steps, f.Step)
	}
	wanttest.Equal(t, "the last step is", steps, 20)
	again := p.send("tool x read again\nstatus x completed\n" +
		`raw {"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.15,"currency":"USD"}}` + "\nsay fine")
	if got := again.fold(); got.Cost != "$0.03" || got.Steps != 1 || got.Files != 0 {
		t.Errorf("the summary of the second turn is %+v", got)
	}
}

func TestExactlyTheLastMessageOfATurnNotifies(t *testing.T) {
	long, image := strings.Repeat("long ", 100), `{"type":"image","mimeType":"image/png","data":"eA=="}`
	const unanswered = "The agent ended its turn without an answer."
	sendImage := `raw {"sessionUpdate":"agent_message_chunk","content":` + image + "}\n"
	for name, c := range map[string]struct {
		script, last string
		all          int
	}{
		"an answer":                         {"say hello", "hello", 1},
		"a remark and an answer":            {"say I look.\ntool t read x\nstatus t completed\nsay hello", "hello", 1},
		"a remark that nothing follows":     {"say I look.\ntool t read x\nstatus t completed", "I look.", 1},
		"a long text before a tool call":    {"say " + long + "\ntool t read x\nstatus t completed\nsay hello", "hello", 2},
		"a long text that nothing follows":  {"say " + long + "\ntool t read x\nstatus t completed", "Done.", 2},
		"code before a tool call":           {"raw " + chunkOf("```\\nx\\n```") + "\ntool t read x\nsay hello", "hello", 2},
		"a table before a tool call":        {"raw " + chunkOf("|a|b|\\n|--|--|\\n|1|2|") + "\ntool t read x\nsay hello", "hello", 2},
		"a picture and an answer":           {sendImage + "say hello", "hello", 2},
		"two messages":                      {"message 1 first\nmessage 2 second", "second", 2},
		"an explanation of the end":         {"say half\nstop max_tokens", "The agent stopped because it reached its token limit. Send “go on” to let it continue, or /new to start a new conversation.", 2},
		"a tool call without a word":        {"tool t read x\nstatus t completed", unanswered, 1},
		"an edit without a word":            {`tool t edit x` + "\n" + `status t completed [{"type":"diff","path":"/f","newText":"x\n"}]`, unanswered, 1},
		"a permission without a word after": {"say I ask.\ntool t fetch x\nask t fetch May I?", "permission selected yes", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, "").person("a")
			p.ask = func(context.Context, terminal.Question) (terminal.Answer, error) {
				return terminal.Answer{Text: "Allow once"}, nil
			}
			h := p.send(c.script)
			rings, all := h.ringing()
			if (h.out.Status == terminal.Done) == (c.last == unanswered) || all != c.all || len(rings) != 1 || strings.TrimSpace(rings[0]) != c.last {
				t.Errorf("%s: of %d messages %q notify: %q", h.out.Status, all, rings, h.text(terminal.Message))
			}
		})
	}
}

func TestWithoutABoardRemarksAreSilentMessagesAndASmallDiffIsADocumentOfTheAnswer(t *testing.T) {
	script := "say I look.\ntool t edit x\nstatus t completed " + `[{"type":"diff","path":"/f","oldText":"a\n","newText":"b\n"}]` + "\nsay hello"
	for name, c := range map[string]struct {
		hidden   bool
		want     []string
		files    int
		required bool
	}{
		"a board":  {false, []string{"hello"}, 0, true},
		"no board": {true, []string{"I look.", "hello"}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, "").person("a")
			p.boardHidden = c.hidden
			h := p.send(script)
			if rings, _ := h.ringing(); len(rings) != 1 || rings[0] != "hello" {
				t.Errorf("%q notify", rings)
			}
			wanttest.Equal(t, "said", h.text(terminal.Message), strings.Join(c.want, "\n"))
			if last := h.frames[len(h.frames)-1]; len(last.Media) != c.files {
				t.Errorf("the answer has %q", last.Media)
			}
			if fold := h.fold(); fold.Required != c.required {
				t.Errorf("the summary is %+v", fold)
			}
		})
	}
}

func TestOnlyASummaryWithContentOfItsOwnIsRequired(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	for script, want := range map[string]bool{
		"tool t read x\nstatus t completed\nsay hello":              false,
		"say I look.\ntool t read x\nstatus t completed":            false, // the remark is the answer
		"say I look.\ntool t read x\nstatus t completed\nsay hello": true,
	} {
		wanttest.Equal(t, script+":", p.send(script).fold().Required, want)
	}
}

func chunkOf(text string) string {
	return `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`
}

func TestATurnThatFailsIsSummedUpAndOnlyItsErrorNotifies(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	ctx, stop := context.WithCancel(t.Context())
	work := "say I look.\ntool t read x\nstatus t completed\nsay half an answer\n"
	for name, h := range map[string]*turnResult{
		"an error": p.send(work + "fail out of luck"),
		"a stop": func() *turnResult {
			p.onFrame = func(f terminal.Frame) {
				if shows(f, "half an answer") {
					stop()
				}
			}
			return p.sendUntil(ctx, work+"await")
		}(),
		"an exit": p.send(work + "exit 3"),
	} {
		if rings, all := h.ringing(); len(rings) != 0 || all != 1 || h.text(terminal.Error) == "" {
			t.Errorf("%s: of %d messages %q notify, error %q", name, all, rings, h.text(terminal.Error))
		}
		if fold := h.fold(); fold.Steps != 1 || fold.Details != "💬 I look.\n📖 x ✓" {
			t.Errorf("%s: the summary is %+v", name, fold)
		}
	}
}

func TestTheBoardSaysWhatTheAgentDoes(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	p.ask = func(context.Context, terminal.Question) (terminal.Answer, error) {
		return terminal.Answer{Text: "Allow once"}, nil
	}
	gates := []string{"Thinking…", "💭 Thinking…", "💬 I look.\n📖 x …", "✓\nThinking…"}
	next := 0
	p.onFrame = func(f terminal.Frame) {
		if next < len(gates) && f.Kind == terminal.Progress && strings.HasSuffix(f.Text, gates[next]) {
			if err := os.WriteFile(p.path(fmt.Sprint(next)), nil, 0o600); err != nil {
				t.Error(err)
			}
			next++
		}
	}
	until := func(i int) string { return "\nuntil " + p.path(fmt.Sprint(i)) + "\n" }
	p.send("until " + p.path("0") + "\nthink hm" + until(1) + "say I look.\ntool t read x" + until(2) + "ask t fetch May I?\nstatus t completed\ntool u read y\nstatus u completed" + until(3) + "say done")
	if next != len(gates) {
		t.Errorf("%q was not shown", gates[next])
	}
}
