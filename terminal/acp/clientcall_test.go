package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// asker records questions and answers them with a function.
type asker struct {
	mu     sync.Mutex
	answer func(terminal.Question) (string, error)
	asked  []terminal.Question
}

func (a *asker) ask(_ context.Context, q terminal.Question) (terminal.Answer, error) {
	a.mu.Lock()
	a.asked = append(a.asked, q)
	answer := a.answer
	a.mu.Unlock()
	text, err := answer(q)
	return terminal.Answer{Text: text, By: "ann"}, err
}

// answerAlways gives one answer to all questions.
func answerAlways(text string) func(terminal.Question) (string, error) {
	return func(terminal.Question) (string, error) { return text, nil }
}

// takeQuestions returns the questions since the last call.
func (a *asker) takeQuestions() []terminal.Question {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

// newPersonWithRules returns a person whose agent has these permissions and rules.
func newPersonWithRules(t *testing.T, permissions string, rules map[string]string, answer func(terminal.Question) (string, error)) (*person, *asker) {
	t.Helper()
	p := newFixture(t, "", func(c *config.Terminal) { settings(c).Permissions, settings(c).Rules = permissions, rules }).person("a")
	a := &asker{answer: answer}
	p.ask = a.ask
	return p, a
}

const (
	refusedCode = "-32003"
	cancelCode  = "-32800"
)

// tryClientCalls makes the agent write a file, run a command that creates one, and read one. It
// returns which of the three succeeded.
func tryClientCalls(p *person) (did string, h *turnResult) {
	p.t.Helper()
	for _, name := range []string{"written", "run"} {
		_ = os.Remove(p.path(name))
	}
	musttest.Do(p.t, os.WriteFile(p.path("read"), []byte("content"), 0o600))
	h = p.send("write " + p.path("written") + " words\nrun touch " + p.path("run") + "\nread " + p.path("read"))
	for _, name := range []string{"written", "run"} {
		if _, err := os.Stat(p.path(name)); err == nil {
			did += name + " "
		}
	}
	if strings.Contains(h.text(terminal.Message), "content") {
		did += "read"
	}
	return strings.TrimSpace(did), h
}

func TestRulesAlsoApplyToCallsWithoutAPermissionRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		permissions string
		rules       map[string]string
		answer      string
		did         string
		asked       int
	}{
		"deny":                {"deny", nil, "Allow once", "", 0},
		"deny all but":        {"deny", map[string]string{"edit": "allow"}, "Allow once", "written", 0},
		"allow":               {"allow", nil, "Reject", "written run read", 0},
		"allow all but":       {"allow", map[string]string{"execute": "deny", "read": "deny"}, "Allow once", "written", 0},
		"ask, yes":            {"ask", nil, "Allow once", "written run read", 2},
		"ask, no":             {"ask", nil, "Reject", "read", 2},
		"ask, no option":      {"ask", nil, "Perhaps", "read", 2},
		"ask for reads too":   {"ask", map[string]string{"read": "ask"}, "Reject", "", 3},
		"reads asked, yes":    {"ask", map[string]string{"read": "ask"}, "Allow once", "written run read", 3},
		"reads allowed, no":   {"allow-reads", nil, "Reject", "read", 2},
		"reads allowed, yes":  {"allow-reads", nil, "Allow once", "written run read", 2},
		"reads denied":        {"allow-reads", map[string]string{"read": "deny"}, "Allow once", "written run", 2},
		"only commands asked": {"allow", map[string]string{"execute": "ask"}, "Reject", "written read", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, a := newPersonWithRules(t, c.permissions, c.rules, answerAlways(c.answer))
			did, h := tryClientCalls(p)
			if asked := a.takeQuestions(); did != c.did || len(asked) != c.asked {
				t.Errorf("did %q, was asked %d times; said %q", did, len(asked), h.text(terminal.Message))
			}
			if n, want := strings.Count(h.text(terminal.Message), "error "+refusedCode+" refused: "), 3-len(strings.Fields(c.did)); n != want {
				t.Errorf("%d calls were refused, not %d: %q", n, want, h.text(terminal.Message))
			}
			for _, f := range h.frames {
				if f.Kind == terminal.Log && strings.HasPrefix(f.Text, "permission: ") && !f.Audit {
					t.Errorf("not for the audit: %s", f.Text)
				}
			}
			log := h.text(terminal.Log)
			if c.did != "written run read" && !strings.Contains(log, "refused by ") {
				t.Errorf("logged %s", log)
			}
		})
	}
}

func TestAQuestionOfTheGatewayShowsTheWholeCall(t *testing.T) {
	t.Parallel()
	p, a := newPersonWithRules(t, "ask", map[string]string{"read": "ask"}, answerAlways("Reject"))
	musttest.Do(t, os.WriteFile(p.path("real"), []byte("old\n"), 0o600))
	musttest.Do(t, os.Symlink("real", p.path("link")))
	p.send(`call terminal/create {"sessionId":"SESSION","command":"git","args":["commit","-m","two words"],"cwd":"` + p.workspace + `/sub","env":[{"name":"LD_PRELOAD","value":"/tmp/evil.so"}]}
write ` + p.path("link") + ` new
read ` + p.path("link"))
	asked := a.takeQuestions()
	var documents []string
	p.onFrame = func(f terminal.Frame) {
		for _, path := range f.Media {
			data, _ := os.ReadFile(path)
			documents = append(documents, string(data))
		}
	}
	p.send(`call terminal/create {"sessionId":"SESSION","command":"ls","env":[` + strings.Repeat(`{"name":"A","value":"xxxxxxxxxx"},`, 200) + `{"name":"LD_PRELOAD","value":"a\nb"},{"name":"B","value":"` + strings.Repeat("x", 2000) + `"}]}`)
	if len(documents) != 1 || !strings.Contains(documents[0], "with `LD_PRELOAD=a␊b`\n") {
		t.Errorf("sent %.300q", documents)
	}
	a.takeQuestions()
	if len(asked) != 3 {
		t.Fatalf("asked %d times", len(asked))
	}
	for i, parts := range [][]string{
		{"💻 The agent wants to run a command", "git commit -m 'two words'", "in `" + p.workspace + "/sub`", "with `LD_PRELOAD=/tmp/evil.so`"},
		{"✏️ The agent wants to write a file", "`real` · +1 −1", "-old\n+new", "which is `" + p.path("real") + "`"},
		{"📖 The agent wants to read a file", "`link`", "which is `" + p.path("real") + "`"},
	} {
		for _, part := range parts {
			if !strings.Contains(asked[i].Text, part) {
				t.Errorf("%q is not in the question %q", part, asked[i].Text)
			}
		}
	}
	wanttest.Equal(t, "offered", fmt.Sprintf("%q", asked[0].Options), `["Allow once" "Allow commands for this session" "Reject"]`)
}

// permissionStep returns the script step that asks for permission for a tool call with locations,
// and then sends the chosen option as text. The call runs the command true, or writes "a" to each
// file, of which those called r and link have the text "old".
func permissionStep(id, kind string, paths ...string) string {
	var locations, diffs []string
	for _, path := range paths {
		old := "null"
		if base := filepath.Base(path); base == "r" || base == "link" {
			old = `"old"`
		}
		locations = append(locations, `{"path":"`+path+`"}`)
		diffs = append(diffs, `{"type":"diff","path":"`+path+`","oldText":`+old+`,"newText":"a"}`)
	}
	more := ""
	switch kind {
	case "execute":
		more = `,"rawInput":{"command":"true"}`
	case "edit":
		more = `,"content":[` + strings.Join(diffs, ",") + `]`
	}
	return askStep(`"toolCallId":"` + id + `","kind":"` + kind + `","title":"Do it","status":"pending","locations":[` + strings.Join(locations, ",") + `]` + more)
}

// askStep returns the script step that asks for permission for a tool call.
func askStep(call string) string {
	return `call session/request_permission {"sessionId":"SESSION","toolCall":{` + call +
		`},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"ever","name":"For ever","kind":"allow_always"},{"optionId":"no","name":"No","kind":"reject_once"}]}` + "\n"
}

// isGatewayQuestion reports whether a question is not one of the agent's own.
func isGatewayQuestion(q terminal.Question) bool {
	return strings.Contains(q.Text, "The agent wants to")
}

func TestAPermissionCoversOnlyItsToolCall(t *testing.T) {
	t.Parallel()
	const yes, no, ever = "Allow once", "Reject", "Always: For ever"
	for name, c := range map[string]struct {
		answer string // to the agent's own questions; ours are rejected
		script func(p *person) string
		want   []string // what is done, in order: ok or refused
	}{
		"a command, once":            {yes, func(*person) string { return permissionStep("t", "execute") + "run true\nrun true" }, []string{"ok", "refused"}},
		"another command":            {yes, func(*person) string { return permissionStep("t", "execute") + "run true; true\nrun true" }, []string{"refused", "ok"}},
		"a command of a title alone": {yes, func(*person) string { return askStep(`"toolCallId":"t","kind":"execute","title":"true"`) + "run true" }, []string{"refused"}},
		"a command of a title for ever": {ever, func(*person) string {
			return askStep(`"toolCallId":"t","kind":"execute","title":"true"`) + "run true"
		}, []string{"refused"}},
		"a command with arguments": {yes, func(*person) string {
			return permissionStep("t", "execute") + `call terminal/create {"sessionId":"SESSION","command":"true","args":["x"]}`
		}, []string{"refused"}},
		"a command in another folder": {yes, func(p *person) string {
			return permissionStep("t", "execute") + `call terminal/create {"sessionId":"SESSION","command":"true","cwd":"` + p.path("sub") + `"}`
		}, []string{"refused"}},
		"a command in the folder that was shown": {yes, func(p *person) string {
			return askStep(`"toolCallId":"t","kind":"execute","title":"Do it","rawInput":{"command":["true","x y"],"cwd":"`+p.path("sub")+`"}`) +
				`call terminal/create {"sessionId":"SESSION","command":"true","args":["x y"],"cwd":"` + p.path("sub") + `"}`
		}, []string{"ok"}},
		"the beginning of the command": {yes, func(*person) string {
			return askStep(`"toolCallId":"t","kind":"execute","title":"Do it","rawInput":{"command":"true; true"}`) + "run true"
		}, []string{"refused"}},
		"the folder of the agent instead of the one that was shown": {yes, func(p *person) string {
			return askStep(`"toolCallId":"t","kind":"execute","title":"Do it","rawInput":{"command":"true","cwd":"`+p.path("sub")+`"}`) + "run true"
		}, []string{"refused"}},
		"a command with a variable": {yes, func(*person) string {
			return permissionStep("t", "execute") + `call terminal/create {"sessionId":"SESSION","command":"true","env":[{"name":"LD_PRELOAD","value":"/tmp/x.so"}]}`
		}, []string{"refused"}},
		"a command for ever, and another one": {ever, func(*person) string {
			return permissionStep("t", "execute") + "status t completed\nrun true\nrun true\nrun true; true"
		}, []string{"ok", "ok", "refused"}},
		"writing another text": {yes, func(p *person) string {
			return permissionStep("t", "edit", p.path("x")) + "write " + p.path("x") + " b"
		}, []string{"refused"}},
		"writing another text for ever": {ever, func(p *person) string {
			return permissionStep("t", "edit", p.path("x")) + "write " + p.path("x") + " b"
		}, []string{"refused"}},
		"writing without a diff": {ever, func(p *person) string {
			return askStep(`"toolCallId":"t","kind":"edit","title":"Do it","locations":[{"path":"`+p.path("x")+`"}]`) + "write " + p.path("x") + " a"
		}, []string{"refused"}},
		"writing a part": {yes, func(p *person) string {
			return askStep(`"toolCallId":"t","kind":"edit","title":"Do it","content":[{"type":"diff","path":"`+p.path("r")+`","oldText":"ld","newText":"LD"},{"type":"diff","path":"`+p.path("r")+`","oldText":"o","newText":"a"}]`) +
				"write " + p.path("r") + " LD\nwrite " + p.path("r") + " aLD"
		}, []string{"refused", "ok"}},
		"writing a part that the file has twice": {yes, func(p *person) string {
			return askStep(`"toolCallId":"t","kind":"edit","title":"Do it","content":[{"type":"diff","path":"`+p.path("twice")+`","oldText":"x","newText":"y"}]`) + "write " + p.path("twice") + " yx"
		}, []string{"refused"}},
		"writing over a text that was not shown": {yes, func(p *person) string {
			return askStep(`"toolCallId":"t","kind":"edit","title":"Do it","content":[{"type":"diff","path":"`+p.path("r")+`","oldText":null,"newText":"a"}]`) + "write " + p.path("r") + " a"
		}, []string{"refused"}},
		"a command that was rejected": {no, func(*person) string { return permissionStep("t", "execute") + "run true" }, []string{"refused"}},
		"a command of a call that has ended": {yes, func(*person) string {
			return "tool t execute Do it\n" + permissionStep("t", "execute") + "run true\nstatus t completed\nrun true"
		}, []string{"ok", "refused"}},
		"a command of a call that has failed": {yes, func(*person) string {
			return permissionStep("t", "execute") + "status t failed\nrun true"
		}, []string{"refused"}},
		"a call that had ended before": {yes, func(*person) string {
			return "tool t execute Do it\nstatus t completed\n" + permissionStep("t", "execute") + "run true"
		}, []string{"refused"}},
		"a call that is begun again": {yes, func(*person) string {
			return permissionStep("t", "execute") + "status t completed\nstatus t in_progress\nrun true"
		}, []string{"refused"}},
		"two calls of which one has ended": {yes, func(*person) string {
			return permissionStep("t", "execute") + permissionStep("u", "execute") + "status t completed\nrun true\nstatus u completed\nrun true"
		}, []string{"ok", "refused"}},
		"a call without a name": {yes, func(*person) string { return permissionStep("", "execute") + "run true" }, []string{"refused"}},
		"writing the file": {yes, func(p *person) string {
			return permissionStep("t", "edit", p.path("x")) + "write " + p.path("x") + " a\nread " + p.path("x")
		}, []string{"ok", "ok"}},
		"writing by another way": {yes, func(p *person) string {
			return permissionStep("t", "edit", p.path("x")) + "write " + p.workspace + "/sub/../x a"
		}, []string{"ok"}},
		"writing another file": {yes, func(p *person) string {
			return permissionStep("t", "edit", p.path("x")) + "write " + p.path("y") + " a"
		}, []string{"refused"}},
		"writing a file below": {yes, func(p *person) string {
			return permissionStep("t", "edit", p.workspace) + "write " + p.path("y") + " a"
		}, []string{"refused"}},
		"writing beside it by dots": {yes, func(p *person) string {
			return permissionStep("t", "edit", p.path("x")) + "write " + p.path("x") + "/../y a"
		}, []string{"refused"}},
		"writing without locations": {yes, func(p *person) string { return permissionStep("t", "edit") + "write " + p.path("x") + " a" }, []string{"refused"}},
		"a relative location":       {yes, func(p *person) string { return permissionStep("t", "edit", "x") + "write " + p.path("x") + " a" }, []string{"refused"}},
		"writing what may be read": {yes, func(p *person) string {
			return permissionStep("t", "read", p.path("r")) + "read " + p.path("r") + "\nwrite " + p.path("r") + " a"
		}, []string{"ok", "refused"}},
		"writing what may be deleted": {yes, func(p *person) string {
			return permissionStep("t", "delete", p.path("r")) + "write " + p.path("r") + " a"
		}, []string{"refused"}},
		"a command with an edit": {yes, func(p *person) string { return permissionStep("t", "edit", p.path("x")) + "run true" }, []string{"refused"}},
		"a write with a command": {yes, func(p *person) string {
			return permissionStep("t", "execute", p.path("x")) + "write " + p.path("x") + " a"
		}, []string{"refused"}},
		"a command with another kind": {yes, func(*person) string { return permissionStep("t", "other") + "run true" }, []string{"refused"}},
		"locations that come later": {yes, func(p *person) string {
			return permissionStep("t", "edit", p.path("x")) +
				`raw {"sessionUpdate":"tool_call_update","toolCallId":"t","locations":[{"path":"` + p.path("y") + `"}]}` + "\nwrite " + p.path("y") + " a\nwrite " + p.path("x") + " a"
		}, []string{"refused", "ok"}},
		"a link that is turned": {yes, func(p *person) string {
			return permissionStep("t", "edit", p.path("link")) + "write " + p.path("r") + " a\nuntil " + p.path("turned") + "\nwrite " + p.path("link") + " a"
		}, []string{"ok", "refused"}},
		"another session": {yes, func(*person) string {
			return permissionStep("t", "execute") + `call terminal/create {"sessionId":"another","command":"true"}`
		}, []string{"unknown"}},
		"a permission for another session": {yes, func(*person) string {
			return strings.ReplaceAll(permissionStep("t", "execute"), "SESSION", "another") + "run true"
		}, []string{"unknown", "refused"}},
		"for ever": {ever, func(p *person) string {
			return permissionStep("t", "execute") + permissionStep("w", "edit", p.path("x")) +
				"status t completed\nstatus w completed\nrun true\nwrite " + p.path("x") + " a\nwrite " + p.path("y") + " a"
		}, []string{"ok", "ok", "refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newPersonWithRules(t, "ask", nil, nil)
			for _, err := range []error{os.WriteFile(p.path("r"), []byte("old"), 0o600), os.WriteFile(p.path("twice"), []byte("xx"), 0o600), os.Mkdir(p.path("sub"), 0o700), os.Symlink("r", p.path("link"))} {
				if err != nil {
					t.Fatal(err)
				}
			}
			p.ask = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
				if isGatewayQuestion(q) {
					return terminal.Answer{Text: "Reject"}, nil
				}
				return terminal.Answer{Text: c.answer}, nil
			}
			p.onFrame = func(terminal.Frame) { // behind the first write
				if _, err := os.Lstat(p.path("turned")); name == "a link that is turned" && err != nil {
					if b, _ := os.ReadFile(p.path("r")); string(b) == "a" {
						_ = os.Remove(p.path("link"))
						_ = os.Symlink("y", p.path("link"))
						_ = os.WriteFile(p.path("turned"), nil, 0o600)
					}
				}
			}
			text := p.send(c.script(p)).said()
			var got []string
			for line := range strings.Lines(text) {
				switch {
				case strings.Contains(line, refusedCode):
					got = append(got, "refused")
				case strings.Contains(line, "unknown session"):
					got = append(got, "unknown")
				case strings.Contains(line, "(exit 0)"), strings.Contains(line, "terminalId"), strings.Contains(line, "written"), strings.Contains(line, "old"), line == "a" || line == "a\n":
					got = append(got, "ok")
				}
			}
			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("got %q, want %q; said %q", got, c.want, text)
			}
			_, err := os.Stat(p.path("y"))
			if err == nil {
				t.Error("another file was written")
			}
		})
	}
}

func TestARuleForOneKindOfToolAllowsNoOther(t *testing.T) {
	t.Parallel()
	rules := map[string]string{"move": "allow", "search": "allow", "other": "allow", "read": "ask"}
	p, a := newPersonWithRules(t, "ask", rules, answerAlways("Reject"))
	x := p.path("x")
	musttest.Do(t, os.WriteFile(x, []byte("secret"), 0o600))
	text := p.send(permissionStep("t", "move", x) + permissionStep("u", "search", x) + permissionStep("v", "other", x) + "write " + x + " a\nread " + x + "\nrun true").text(terminal.Message)
	if n := strings.Count(text, refusedCode); n != 3 || len(a.takeQuestions()) != 3 {
		t.Errorf("%d calls were refused: %q", n, text)
	}
}

func TestAQuestionShowsEveryFileThatThePermissionCovers(t *testing.T) {
	t.Parallel()
	p, a := newPersonWithRules(t, "ask", nil, answerAlways("Reject"))
	musttest.Do(t, os.Symlink("hidden", p.path("link")))
	p.send(permissionStep("t", "edit", p.path("one"), p.path("two"), p.path("link")))
	asked := a.takeQuestions()
	if len(asked) != 1 {
		t.Fatalf("asked %d times", len(asked))
	}
	for _, part := range []string{"`one`", "`two`", "`link` → `" + p.path("hidden") + "`"} {
		if !strings.Contains(asked[0].Text, part) {
			t.Errorf("%s is not in %q", part, asked[0].Text)
		}
	}
}

func TestAnAnswerForTheSessionCoversCallsThatWaitAndLaterTurns(t *testing.T) {
	t.Parallel()
	p, a := newPersonWithRules(t, "ask", nil, answerAlways("Allow commands for this session"))
	// All calls are open before the first is answered.
	var script strings.Builder
	for i := range 20 {
		fmt.Fprintf(&script, "spawn true # %d\n", i)
	}
	text := p.send(script.String() + "gather").text(terminal.Message)
	if n := strings.Count(text, "terminalId"); n != 20 || len(a.takeQuestions()) != 1 {
		t.Errorf("%d commands were run: %q", n, text)
	}
	p.send("run echo later").expect(terminal.Done, "later\n(exit 0)")
	if len(a.takeQuestions()) != 0 {
		t.Error("asked in a later turn")
	}
	a.answer = answerAlways("Reject")
	p.send("write " + p.path("x") + " a") // commands are not files
	if len(a.takeQuestions()) != 1 {
		t.Error("a file was written without a question")
	}
	p.memory.forget() // as /new does
	p.send("run echo again")
	if len(a.takeQuestions()) != 1 {
		t.Error("the answer outlived the session")
	}
}

func TestAGrantOfOneTurnDoesNotCoverTheNext(t *testing.T) {
	t.Parallel()
	p, a := newPersonWithRules(t, "ask", nil, nil)
	a.answer = func(q terminal.Question) (string, error) {
		if isGatewayQuestion(q) {
			return "Reject", nil
		}
		return "Allow once", nil
	}
	p.send(permissionStep("t", "execute") + permissionStep("u", "execute") + "run true")
	if len(a.takeQuestions()) != 2 {
		t.Error("the permission did not cover the command")
	}
	if text := p.send("run true").text(terminal.Message); !strings.Contains(text, refusedCode) || len(a.takeQuestions()) != 1 {
		t.Errorf("said %q", text)
	}
}

func TestAnOpenQuestionOfTheGatewayEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"run touch %s", "write %s words"} {
		p := newFixture(t, "").person("a")
		ctx, stop := context.WithCancel(t.Context())
		p.ask = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
			stop()
			<-ctx.Done()
			return terminal.Answer{Text: "Allow once"}, nil // too late
		}
		h := p.sendUntil(ctx, fmt.Sprintf(script, p.path("made")))
		if text := h.text(terminal.Message); h.out.Status != terminal.Stopped || !strings.Contains(text, cancelCode) {
			t.Errorf("%s, said %q", h.out.Status, text)
		}
		if _, err := os.Stat(p.path("made")); err == nil {
			t.Errorf("%s: it was done all the same", script)
		}
	}
}

func TestNoAnswerToAQuestionOfTheGatewayIsARefusal(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "", func(c *config.Terminal) { settings(c).AskTimeout = 1 }).person("a")
	p.ask = func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
		limited, cancel := context.WithTimeout(ctx, q.Timeout)
		defer cancel()
		<-limited.Done()
		return terminal.Answer{}, limited.Err()
	}
	h := p.send("write " + p.path("x") + " a")
	if text := h.text(terminal.Message); !strings.Contains(text, refusedCode+" refused: nobody allowed it") || !strings.Contains(text, "Nobody answered within 1 s") {
		t.Errorf("said %q", text)
	}
	if log := h.text(terminal.Log); !strings.Contains(log, "refused by timeout") {
		t.Errorf("logged %s", log)
	}
	p.ask = nil
	if text := p.send("run true").text(terminal.Message); !strings.Contains(text, refusedCode) {
		t.Errorf("with nobody there: %q", text)
	}
}

// A path whose symbolic link changes between the question and the answer is not written.
func TestALinkThatChangesWhileThePersonIsAskedIsRefused(t *testing.T) {
	t.Parallel()
	p, a := newPersonWithRules(t, "ask", nil, nil)
	for _, name := range []string{"shown", "meant"} {
		musttest.Do(t, os.WriteFile(p.path(name), []byte("old"), 0o600))
	}
	link := p.path("link")
	musttest.Do(t, os.Symlink("shown", link))
	a.answer = func(terminal.Question) (string, error) {
		_ = os.Remove(link)
		return "Allow once", os.Symlink("meant", link)
	}
	if text := p.send("write " + link + " new").text(terminal.Message); !strings.Contains(text, refusedCode) {
		t.Errorf("said %q", text)
	}
	if b, _ := os.ReadFile(filepath.Join(p.workspace, "meant")); string(b) != "old" {
		t.Errorf("another file was written: %q", b)
	}
}

// The question showed a diff against the text that the file had then.
func TestAFileThatChangesWhileThePersonIsAskedIsNotOverwritten(t *testing.T) {
	t.Parallel()
	p, a := newPersonWithRules(t, "ask", nil, nil)
	for name, before := range map[string]string{"an existing file": "old", "a file that is not text": "\xff", "a new file": ""} {
		path := p.path("f")
		_ = os.Remove(path)
		if before != "" {
			musttest.Do(t, os.WriteFile(path, []byte(before), 0o600))
		}
		a.answer = func(terminal.Question) (string, error) {
			return "Allow once", os.WriteFile(path, []byte("theirs"), 0o600)
		}
		if text := p.send("write " + path + " new").text(terminal.Message); !strings.Contains(text, refusedCode) {
			t.Errorf("%s: said %q", name, text)
		}
		if b, _ := os.ReadFile(path); string(b) != "theirs" {
			t.Errorf("%s: has %q", name, b)
		}
	}
}

func TestAnAnswerForTheSessionEndsWithTheAgentAndTheConversation(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "-load -list", func(c *config.Terminal) { settings(c).Permissions = "ask" }).person("a")
	a := &asker{answer: answerAlways("Allow commands for this session")}
	p.ask = a.ask
	asks := func(when string, want int) {
		t.Helper()
		p.send("run echo x").expect(terminal.Done, "x\n(exit 0)")
		if got := len(a.takeQuestions()); got != want {
			t.Errorf("%s: asked %d times, want %d", when, got, want)
		}
	}
	asks("at first", 1)
	asks("later", 0)
	first := p.memory.s
	p.restart()
	asks("when the conversation was loaded by another process", 1)
	p.memory.forget() // as /new does
	asks("in a new conversation", 1)
	var known struct{ Session string }
	musttest.Do(t, json.Unmarshal([]byte(first), &known))
	p.send("/sessions " + known.Session)
	if p.memory.s != first {
		t.Fatalf("the conversation is %s, not %s", p.memory.s, first)
	}
	asks("back in the first conversation", 1)
}

func TestTheAuditRecordHasTheDecisionFirstAndNoValuesOfVariables(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 9000)
	p, _ := newPersonWithRules(t, "ask", nil, answerAlways("Allow once"))
	log := p.send(`call terminal/create {"sessionId":"SESSION","command":"true","args":["` + long + `"],"env":[{"name":"API_KEY","value":"s3cret"},{"name":"` + long + `","value":"s3cret"}]}`).text(terminal.Log)
	if !strings.HasPrefix(log, `permission: execute: allow_once "Allow once" by user ann: "true xxx`) || !strings.Contains(log, ` with "API_KEY xxx`) {
		t.Errorf("logged %.300s", log)
	}
	if strings.Contains(log, "s3cret") || strings.Count(log, "\n") > 0 {
		t.Errorf("logged a value, or the command twice: %s", log)
	}
}
