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
	"nanobot/terminal"
)

// asker answers questions as it is told to and remembers them.
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

// always gives one answer to all questions.
func always(text string) func(terminal.Question) (string, error) {
	return func(terminal.Question) (string, error) { return text, nil }
}

// take returns the questions that were asked since the last time.
func (a *asker) take() []terminal.Question {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

// ruled is a person whose agent has these permissions and rules.
func ruled(t *testing.T, permissions string, rules map[string]string, answer func(terminal.Question) (string, error)) (*person, *asker) {
	t.Helper()
	p := newDesk(t, "", func(c *config.Terminal) { settings(c).Permissions, settings(c).Rules = permissions, rules }).person("a")
	a := &asker{answer: answer}
	p.ask = a.ask
	return p, a
}

const (
	refusedCode = "-32003"
	cancelCode  = "-32800"
)

// tried has the agent write a file, run a command that makes one, and read one, and says which of
// them worked.
func tried(p *person) (did string, h *heard) {
	p.t.Helper()
	for _, name := range []string{"written", "run"} {
		_ = os.Remove(p.file(name))
	}
	if err := os.WriteFile(p.file("read"), []byte("content"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	h = p.says("write " + p.file("written") + " words\nrun touch " + p.file("run") + "\nread " + p.file("read"))
	for _, name := range []string{"written", "run"} {
		if _, err := os.Stat(p.file(name)); err == nil {
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
			p, a := ruled(t, c.permissions, c.rules, always(c.answer))
			did, h := tried(p)
			if asked := a.take(); did != c.did || len(asked) != c.asked {
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

func TestAQuestionOfOurOwnShowsAllThatIsDone(t *testing.T) {
	t.Parallel()
	p, a := ruled(t, "ask", map[string]string{"read": "ask"}, always("Reject"))
	if err := os.WriteFile(p.file("real"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", p.file("link")); err != nil {
		t.Fatal(err)
	}
	p.says(`call terminal/create {"sessionId":"SESSION","command":"git","args":["commit","-m","two words"],"cwd":"` + p.workspace + `/sub","env":[{"name":"LD_PRELOAD","value":"/tmp/evil.so"}]}
write ` + p.file("link") + ` new
read ` + p.file("link"))
	asked := a.take()
	if len(asked) != 3 {
		t.Fatalf("asked %d times", len(asked))
	}
	for i, parts := range [][]string{
		{"💻 The agent wants to run a command", "git commit -m 'two words'", "in `" + p.workspace + "/sub`", "with `LD_PRELOAD=/tmp/evil.so`"},
		{"✏️ The agent wants to write a file", "`real` · +1 −1", "-old\n+new", "which is `" + p.file("real") + "`"},
		{"📖 The agent wants to read a file", "`link`", "which is `" + p.file("real") + "`"},
	} {
		for _, part := range parts {
			if !strings.Contains(asked[i].Text, part) {
				t.Errorf("%q is not in the question %q", part, asked[i].Text)
			}
		}
	}
	if got := fmt.Sprintf("%q", asked[0].Options); got != `["Allow once" "Allow commands for this session" "Reject"]` {
		t.Errorf("offered %s", got)
	}
}

// permission asks for a tool call with locations, of which the agent says what was chosen.
func permission(id, kind string, paths ...string) string {
	var locations []string
	for _, path := range paths {
		locations = append(locations, `{"path":"`+path+`"}`)
	}
	return `call session/request_permission {"sessionId":"SESSION","toolCall":{"toolCallId":"` + id + `","kind":"` + kind + `","title":"Do it","status":"pending","locations":[` +
		strings.Join(locations, ",") + `]},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"ever","name":"For ever","kind":"allow_always"},{"optionId":"no","name":"No","kind":"reject_once"}]}` + "\n"
}

func TestAPermissionCoversOnlyItsToolCall(t *testing.T) {
	t.Parallel()
	const yes, no, ever = "Yes", "No", "For ever"
	for name, c := range map[string]struct {
		answer string // to the agent's own questions; ours are rejected
		script func(p *person) string
		want   []string // what is done, in order: ok or refused
	}{
		"a command":                   {yes, func(*person) string { return permission("t", "execute") + "run true\nrun true" }, []string{"ok", "ok"}},
		"a command that was rejected": {no, func(*person) string { return permission("t", "execute") + "run true" }, []string{"refused"}},
		"a command of a call that has ended": {yes, func(*person) string {
			return "tool t execute Do it\n" + permission("t", "execute") + "run true\nstatus t completed\nrun true"
		}, []string{"ok", "refused"}},
		"a command of a call that has failed": {yes, func(*person) string {
			return permission("t", "execute") + "status t failed\nrun true"
		}, []string{"refused"}},
		"a call that had ended before": {yes, func(*person) string {
			return "tool t execute Do it\nstatus t completed\n" + permission("t", "execute") + "run true"
		}, []string{"refused"}},
		"a call that is begun again": {yes, func(*person) string {
			return permission("t", "execute") + "status t completed\nstatus t in_progress\nrun true"
		}, []string{"refused"}},
		"two calls of which one has ended": {yes, func(*person) string {
			return permission("t", "execute") + permission("u", "execute") + "status t completed\nrun true\nstatus u completed\nrun true"
		}, []string{"ok", "refused"}},
		"a call without a name": {yes, func(*person) string { return permission("", "execute") + "run true" }, []string{"refused"}},
		"writing the file": {yes, func(p *person) string {
			return permission("t", "edit", p.file("x")) + "write " + p.file("x") + " a\nread " + p.file("x")
		}, []string{"ok", "ok"}},
		"writing by another way": {yes, func(p *person) string {
			return permission("t", "edit", p.file("x")) + "write " + p.workspace + "/sub/../x a"
		}, []string{"ok"}},
		"writing another file": {yes, func(p *person) string { return permission("t", "edit", p.file("x")) + "write " + p.file("y") + " a" }, []string{"refused"}},
		"writing a file below": {yes, func(p *person) string { return permission("t", "edit", p.workspace) + "write " + p.file("y") + " a" }, []string{"refused"}},
		"writing beside it by dots": {yes, func(p *person) string {
			return permission("t", "edit", p.file("x")) + "write " + p.file("x") + "/../y a"
		}, []string{"refused"}},
		"writing without locations": {yes, func(p *person) string { return permission("t", "edit") + "write " + p.file("x") + " a" }, []string{"refused"}},
		"a relative location":       {yes, func(p *person) string { return permission("t", "edit", "x") + "write " + p.file("x") + " a" }, []string{"refused"}},
		"writing what may be read": {yes, func(p *person) string {
			return permission("t", "read", p.file("r")) + "read " + p.file("r") + "\nwrite " + p.file("r") + " a"
		}, []string{"ok", "refused"}},
		"writing what may be deleted": {yes, func(p *person) string { return permission("t", "delete", p.file("r")) + "write " + p.file("r") + " a" }, []string{"refused"}},
		"a command with an edit":      {yes, func(p *person) string { return permission("t", "edit", p.file("x")) + "run true" }, []string{"refused"}},
		"a write with a command":      {yes, func(p *person) string { return permission("t", "execute", p.file("x")) + "write " + p.file("x") + " a" }, []string{"refused"}},
		"a command with another kind": {yes, func(*person) string { return permission("t", "other") + "run true" }, []string{"refused"}},
		"locations that come later": {yes, func(p *person) string {
			return permission("t", "edit", p.file("x")) +
				`raw {"sessionUpdate":"tool_call_update","toolCallId":"t","locations":[{"path":"` + p.file("y") + `"}]}` + "\nwrite " + p.file("y") + " a\nwrite " + p.file("x") + " a"
		}, []string{"refused", "ok"}},
		"a link that is turned": {yes, func(p *person) string {
			return permission("t", "edit", p.file("link")) + "write " + p.file("r") + " a\nuntil " + p.file("turned") + "\nwrite " + p.file("link") + " a"
		}, []string{"ok", "refused"}},
		"another session": {yes, func(*person) string {
			return permission("t", "execute") + `call terminal/create {"sessionId":"another","command":"true"}`
		}, []string{"unknown"}},
		"a permission for another session": {yes, func(*person) string {
			return strings.ReplaceAll(permission("t", "execute"), "SESSION", "another") + "run true"
		}, []string{"unknown", "refused"}},
		"for ever": {ever, func(p *person) string {
			return permission("t", "execute") + permission("w", "edit", p.file("x")) +
				"status t completed\nstatus w completed\nrun true\nwrite " + p.file("x") + " a\nwrite " + p.file("y") + " a"
		}, []string{"ok", "ok", "refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := ruled(t, "ask", nil, nil)
			for _, err := range []error{os.WriteFile(p.file("r"), []byte("old"), 0o600), os.Mkdir(p.file("sub"), 0o700), os.Symlink("r", p.file("link"))} {
				if err != nil {
					t.Fatal(err)
				}
			}
			p.ask = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
				if strings.HasPrefix(q.Options[0], "Allow") {
					return terminal.Answer{Text: "Reject"}, nil
				}
				return terminal.Answer{Text: c.answer}, nil
			}
			p.saw = func(terminal.Frame) { // behind the first write
				if _, err := os.Lstat(p.file("turned")); name == "a link that is turned" && err != nil {
					if b, _ := os.ReadFile(p.file("r")); string(b) == "a" {
						_ = os.Remove(p.file("link"))
						_ = os.Symlink("y", p.file("link"))
						_ = os.WriteFile(p.file("turned"), nil, 0o600)
					}
				}
			}
			text := p.says(c.script(p)).text(terminal.Message)
			var got []string
			for line := range strings.Lines(text) {
				switch {
				case strings.Contains(line, refusedCode):
					got = append(got, "refused")
				case strings.Contains(line, "unknown session"):
					got = append(got, "unknown")
				case strings.Contains(line, "(exit 0)"), strings.Contains(line, "written"), strings.Contains(line, "old"), line == "a" || line == "a\n":
					got = append(got, "ok")
				}
			}
			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("got %q, want %q; said %q", got, c.want, text)
			}
			_, err := os.Stat(p.file("y"))
			if err == nil {
				t.Error("another file was written")
			}
		})
	}
}

func TestAnAllowedKindDoesNotOpenAnother(t *testing.T) {
	t.Parallel()
	rules := map[string]string{"move": "allow", "search": "allow", "other": "allow", "read": "ask"}
	p, a := ruled(t, "ask", rules, always("Reject"))
	x := p.file("x")
	if err := os.WriteFile(x, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := p.says(permission("t", "move", x) + permission("u", "search", x) + permission("v", "other", x) + "write " + x + " a\nread " + x + "\nrun true").text(terminal.Message)
	if n := strings.Count(text, refusedCode); n != 3 || len(a.take()) != 3 {
		t.Errorf("%d calls were refused: %q", n, text)
	}
}

func TestAQuestionShowsEveryFileThatThePermissionCovers(t *testing.T) {
	t.Parallel()
	p, a := ruled(t, "ask", nil, always("No"))
	if err := os.Symlink("hidden", p.file("link")); err != nil {
		t.Fatal(err)
	}
	p.says(permission("t", "edit", p.file("one"), p.file("two"), p.file("link")))
	asked := a.take()
	if len(asked) != 1 {
		t.Fatalf("asked %d times", len(asked))
	}
	for _, part := range []string{"`one`", "`two`", "`link` → `" + p.file("hidden") + "`"} {
		if !strings.Contains(asked[0].Text, part) {
			t.Errorf("%s is not in %q", part, asked[0].Text)
		}
	}
}

func TestAnAnswerForTheSessionCoversCallsThatWaitAndLaterTurns(t *testing.T) {
	t.Parallel()
	p, a := ruled(t, "ask", nil, always("Allow commands for this session"))
	// All calls are open before the first is answered.
	var script strings.Builder
	for i := range 20 {
		fmt.Fprintf(&script, "spawn true # %d\n", i)
	}
	text := p.says(script.String() + "gather").text(terminal.Message)
	if n := strings.Count(text, "terminalId"); n != 20 || len(a.take()) != 1 {
		t.Errorf("%d commands were run: %q", n, text)
	}
	p.says("run echo later").is(terminal.Done, "later\n(exit 0)")
	if len(a.take()) != 0 {
		t.Error("asked in a later turn")
	}
	a.answer = always("Reject")
	p.says("write " + p.file("x") + " a") // commands are not files
	if len(a.take()) != 1 {
		t.Error("a file was written without a question")
	}
	p.mem.forget() // as /new does
	p.says("run echo again")
	if len(a.take()) != 1 {
		t.Error("the answer outlived the session")
	}
}

func TestAGrantOfOneTurnDoesNotCoverTheNext(t *testing.T) {
	t.Parallel()
	p, a := ruled(t, "ask", nil, nil)
	a.answer = func(q terminal.Question) (string, error) {
		if strings.HasPrefix(q.Options[0], "Allow") {
			return "Reject", nil
		}
		return "Yes", nil
	}
	p.says(permission("t", "execute") + "run true")
	if len(a.take()) != 1 {
		t.Error("the permission did not cover the command")
	}
	if text := p.says("run true").text(terminal.Message); !strings.Contains(text, refusedCode) || len(a.take()) != 1 {
		t.Errorf("said %q", text)
	}
}

func TestAnOpenQuestionOfOurOwnEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"run touch %s", "write %s words"} {
		p := newDesk(t, "").person("a")
		ctx, stop := context.WithCancel(t.Context())
		p.ask = func(ctx context.Context, _ terminal.Question) (terminal.Answer, error) {
			stop()
			<-ctx.Done()
			return terminal.Answer{Text: "Allow once"}, nil // too late
		}
		h := p.saysUntil(ctx, fmt.Sprintf(script, p.file("made")))
		if text := h.text(terminal.Message); h.out.Status != terminal.Stopped || !strings.Contains(text, cancelCode) {
			t.Errorf("%s, said %q", h.out.Status, text)
		}
		if _, err := os.Stat(p.file("made")); err == nil {
			t.Errorf("%s: it was done all the same", script)
		}
	}
}

func TestNoAnswerToAQuestionOfOurOwnIsARefusal(t *testing.T) {
	t.Parallel()
	p := newDesk(t, "", func(c *config.Terminal) { settings(c).AskTimeout = 1 }).person("a")
	p.ask = func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
		limited, cancel := context.WithTimeout(ctx, q.Timeout)
		defer cancel()
		<-limited.Done()
		return terminal.Answer{}, limited.Err()
	}
	h := p.says("write " + p.file("x") + " a")
	if text := h.text(terminal.Message); !strings.Contains(text, refusedCode+" refused: nobody allowed it") || !strings.Contains(text, "Nobody answered within 1 s") {
		t.Errorf("said %q", text)
	}
	if log := h.text(terminal.Log); !strings.Contains(log, "refused by timeout") {
		t.Errorf("logged %s", log)
	}
	p.ask = nil
	if text := p.says("run true").text(terminal.Message); !strings.Contains(text, refusedCode) {
		t.Errorf("with nobody there: %q", text)
	}
}

// A path that leads elsewhere when the answer comes than when the person was asked is not written.
func TestALinkThatIsTurnedWhileThePersonIsAskedIsRefused(t *testing.T) {
	t.Parallel()
	p, a := ruled(t, "ask", nil, nil)
	for _, name := range []string{"shown", "meant"} {
		if err := os.WriteFile(p.file(name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := p.file("link")
	if err := os.Symlink("shown", link); err != nil {
		t.Fatal(err)
	}
	a.answer = func(terminal.Question) (string, error) {
		_ = os.Remove(link)
		return "Allow once", os.Symlink("meant", link)
	}
	if text := p.says("write " + link + " new").text(terminal.Message); !strings.Contains(text, refusedCode) {
		t.Errorf("said %q", text)
	}
	if b, _ := os.ReadFile(filepath.Join(p.workspace, "meant")); string(b) != "old" {
		t.Errorf("another file was written: %q", b)
	}
}

func TestAnAnswerForTheSessionEndsWithTheAgentAndTheConversation(t *testing.T) {
	t.Parallel()
	p := newDesk(t, "-load -list", func(c *config.Terminal) { settings(c).Permissions = "ask" }).person("a")
	a := &asker{answer: always("Allow commands for this session")}
	p.ask = a.ask
	asks := func(when string, want int) {
		t.Helper()
		p.says("run echo x").is(terminal.Done, "x\n(exit 0)")
		if got := len(a.take()); got != want {
			t.Errorf("%s: asked %d times, want %d", when, got, want)
		}
	}
	asks("at first", 1)
	asks("later", 0)
	first := p.mem.s
	p.restart()
	asks("when the conversation was loaded by another process", 1)
	p.mem.forget() // as /new does
	asks("in a new conversation", 1)
	var known struct{ Session string }
	if err := json.Unmarshal([]byte(first), &known); err != nil {
		t.Fatal(err)
	}
	p.says("/sessions " + known.Session)
	if p.mem.s != first {
		t.Fatalf("the conversation is %s, not %s", p.mem.s, first)
	}
	asks("back in the first conversation", 1)
}
