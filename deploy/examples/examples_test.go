// Package examples_test runs every example agent through the real program.
package examples_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// example is one folder: the programs that it needs, and a conversation in which each step builds
// on the earlier ones.
type example struct {
	needs []string
	steps []step
}

// step is one message to the agent and the expected output.
type step struct {
	text   string
	media  []string // names of files that before has created in the workspace
	chat   string   // "": the usual one
	before func(t *testing.T, workspace string)
	want   []line // {workspace} in a text stands for the folder
	status int
	after  func(t *testing.T, r result)
}

// hostileText has characters with a meaning in shells, JSON and templates.
const hostileText = "It's \"quoted\" \\ $HOME `date` $(date) <b>&amp; {message} %s ✨\n  second line"

var thinking = progress("Thinking...")

// echoSteps is the conversation with every agent that repeats messages.
var echoSteps = []step{
	{text: "hello", want: []line{thinking, message("You said: hello")}},
	{text: hostileText, want: []line{thinking, message("You said: " + hostileText)}},
}

// helperSteps is the conversation with an agent that uses everything of its helper. Nobody can be
// asked in a run: whether an answer arrives is tested below.
func helperSteps(command string) []step {
	return []step{
		{
			text: "stream", want: []line{message("One, two.")},
			before: withFile("config.json", `{"terminal": {"command": "`+command+`", "protocol": "rich", "interactive": true}}`),
		},
		{text: "ask", want: []line{message("Nobody has answered.")}},
		{text: "fail", want: []line{failure("TOLD", "You told me to fail.\nExit code: 1")}, status: 1},
		{text: hostileText, want: []line{thinking, message("You said: " + hostileText)}},
		{
			text: "files", media: []string{"a b.txt", "c.txt"}, want: []line{thinking, message("You said: files", "a b.txt", "c.txt")},
			before: allBefore(withFile("a b.txt", "a"), withFile("c.txt", "c")),
		},
	}
}

// keysSteps is the conversation with an agent of protocol keys in a language.
func keysSteps(language string) []step {
	done := progress("The file is written.")
	return []step{{
		text: "go on", want: []line{progress("A prompt.\n\nI write a file."), done, done, message("The file is written.")},
		after: wantFile("made", "by "+language+"\n"),
	}}
}

var examples = map[string]example{
	"minimal-python": {needs: []string{"python3"}, steps: echoSteps},
	"echo-node":      {needs: []string{"node"}, steps: echoSteps},
	"echo-bash":      {needs: []string{"bash", "jq"}, steps: echoSteps},
	"echo-go":        {needs: []string{"go"}, steps: echoSteps},

	"helpers": {needs: []string{"python3", "node", "bash", "jq", "go"}, steps: slices.Concat(
		helperSteps("python3 agent.py"), helperSteps("node agent.mjs"), helperSteps("bash agent.sh"),
		helperSteps("go build -o agent agent.go nanobot.go && exec ./agent"),
	)},

	"stateful-python": {needs: []string{"python3"}, steps: []step{
		{text: "one", want: []line{message("This is your first message.")}},
		{text: "two", want: []line{message("This is your message number 2. The one before was: one")}},
		{text: "hi", chat: "other", want: []line{message("This is your first message.")}},
		{text: "three", want: []line{message("This is your message number 3. The one before was: two")}},
		{
			text: "four", before: withFile("users/local/state.json", `{"count": 3, "la`), want: []line{message("This is your first message.")},
			after: allOf(wantFile("users/local/state.broken", `{"count": 3, "la`), wantLogged("state was unreadable and is moved away")),
		},
		{text: "five", want: []line{message("This is your message number 2. The one before was: four")}},
		{text: "six", before: withFile("users/local/state.json", `["valid", "yet", "not", "ours"]`), want: []line{message("This is your first message.")}},
		{text: "seven", before: withFile("users/local/state.json", "\xff\xfe"), want: []line{message("This is your first message.")}},
	}},

	"image-python": {needs: []string{"python3"}, steps: []step{
		{text: "a blue sea", want: []line{progress("Painting..."), message("Painted: a blue sea", "1bd3c134b2e6.png")}, after: wantPictures(256, 256)},
		{text: " ", want: []line{message("Tell me what to paint.")}},
	}},

	"album-python": {needs: []string{"python3"}, steps: []step{
		{text: "go", want: []line{
			progress("Painting morning (1 of 3)..."), progress("Painting noon (2 of 3)..."), progress("Painting night (3 of 3)..."),
			message("Morning, noon and night:", "morning.png", "noon.png", "night.png"),
		}, after: wantPictures(256, 256)},
	}},

	"analyzer-python": {needs: []string{"python3"}, steps: []step{
		{text: "if x == None: pass \ntry: y()\nexcept: pass", want: []line{
			progress("Analyzing..."),
			message("## Result\n\n3 issues in 3 lines."),
			message("- line 1: compare with `is None`\n- line 1: white space at the end of the line\n- line 3: a bare `except:` also catches Ctrl-C"),
			message("The mended version:", "mended.py"),
		}, after: wantSent("if x is None: pass\ntry: y()\nexcept Exception: pass")},
		{media: []string{"theirs.py"}, before: withFile("theirs.py", "if x != None:\n    pass\n"), want: []line{
			progress("Analyzing..."),
			message("## Result\n\n1 issue in 2 lines."),
			message("- line 1: compare with `is not None`"),
			message("The mended version:", "mended.py"),
		}, after: wantSent("if x is not None:\n    pass\n")},
		{text: "x = 1", want: []line{progress("Analyzing..."), message("## Result\n\n0 issues in 1 line.")}},
	}},

	"user-images-python": {needs: []string{"python3"}, steps: []step{
		{text: "hello", want: []line{message("Send me a picture and I take out what is hidden in it.")}},
		{
			text: "please", media: []string{"a.png", "b.jpg", "notes.txt", "cut.png", "cut.jpg"},
			before: func(t *testing.T, workspace string) {
				putFile(t, filepath.Join(workspace, "a.png"), pngWith(t, "taken at home"))
				putFile(t, filepath.Join(workspace, "b.jpg"), jpegWith(t, "taken at home"))
				putFile(t, filepath.Join(workspace, "notes.txt"), []byte("no picture"))
				putFile(t, filepath.Join(workspace, "cut.png"), pngWith(t, "taken at home")[:40])
				putFile(t, filepath.Join(workspace, "cut.jpg"), jpegWith(t, "taken at home")[:40])
			},
			want: []line{
				progress("Cleaning a.png..."), message("a.png: 25 hidden bytes taken out.", "clean-1-a.png"),
				progress("Cleaning b.jpg..."), message("b.jpg: 17 hidden bytes taken out.", "clean-2-b.jpg"),
				progress("Cleaning notes.txt..."), message("notes.txt is left out: neither a PNG nor a JPEG."),
				progress("Cleaning cut.png..."), message("cut.png is left out: the file is damaged."),
				progress("Cleaning cut.jpg..."), message("cut.jpg is left out: the file is damaged."),
			},
			after: allOf(wantPictures(8, 8), wantNoText("taken at home")),
		},
	}},

	"errors-python": {needs: []string{"python3"}, steps: []step{
		{text: "6 * 7", want: []line{message("42")}},
		{text: "1 / 0", status: 1, want: []line{failure("DIVISION_BY_ZERO", "nothing can be divided by zero\nExit code: 1")}},
		{text: "hello", status: 1, want: []line{failure("BAD_INPUT", "write it like this: 6 * 7\nExit code: 2")}},
		{text: "10 ** 999", status: 1, want: []line{failure("INTERNAL", "that was too much for me\nSTDERR: calculate: OverflowError\nExit code: 1")}},
	}},

	"providers-python": {needs: []string{"python3"}, steps: []step{
		{text: "hello", want: []line{either(
			"I would ask small-1 at https://llm.example.com/v1 with the key that ends in 1111, one of 3.",
			"I would ask small-1 at https://llm.example.com/v1 with the key that ends in 2222, one of 3.",
			"I would ask small-1 at https://llm.example.com/v1 with the key that ends in 3333, one of 3.",
		)}},
		{
			text: "hello", before: withFile("config.json", `{"terminal": {"command": "python3 agent.py", "protocol": "rich"}}`), status: 1,
			want: []line{failure("NO_PROVIDER", "no provider \"demo\" in the config\nExit code: 1")},
		},
	}},

	"llm": {needs: []string{"python3"}, steps: []step{
		{text: "hello", before: fakeStream(""), want: []line{message("You said: hello")}, after: noKey},
		{text: "and", before: fakeStream(""), want: []line{message("You said: hello, and")}},
		{text: "hi", chat: "other", before: fakeStream(""), want: []line{message("You said: hi")}},
		{text: "x", before: fakeStream("401"), status: 1, want: []line{failure("MODEL", "The model's server answered 401: it does not accept the key")}, after: noKey},
		{text: "x", before: fakeStream("429"), status: 1, want: []line{failure("MODEL", "The model's server answered 429: it is busy, or the quota is used up; try again later")}, after: noKey},
		{text: "x", before: fakeStream("500"), status: 1, want: []line{failure("MODEL", "The model's server answered 500: Internal Server Error")}, after: noKey},
		{text: "x", before: fakeStream("cut"), status: 1, want: []line{
			message("You said: hel"), failure("MODEL", "The connection ended before the model's answer was complete."),
		}, after: noKey},
		{text: "x", before: fakeStream("broken"), status: 1, want: []line{
			message("You said: hel"), failure("MODEL", "The connection ended before the model's answer was complete."),
		}},
		{
			text: "x", before: withFile("config.json", `{"terminal": {"command": "python3 agent.py", "protocol": "rich", "env": {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}}}`), status: 1,
			want: []line{failure("MODEL", "There is no model at http://127.0.0.1:1/v1 ([Errno 111] Connection refused). Start one, or set OPENAI_BASE_URL.")},
		},
		{text: "still there", before: fakeStream(""), want: []line{message("You said: hello, and, still there")}}, // what failed is not remembered
	}},

	"keys-scripted": {needs: []string{"python3", "vim", "bash"}, steps: []step{{
		text: "go on", want: []line{
			progress("The terminal shows a shell prompt.\n\nI write hello.py with vim."), progress("The file is written.\n\nI run it."),
			progress("hello.py is there, and it prints hello."), progress("hello.py is there, and it prints hello."),
			message("hello.py is there, and it prints hello."),
		}, after: wantFile("hello.py", "print('hello')\n"),
	}}},

	"keys-python": {needs: []string{"python3", "bash"}, steps: []step{
		{text: "Write a file.", before: fakeModel("line", "python3 agent.py"), want: modelLines, after: wantFile("made", "by a model\n")},
		{text: "Write a file.", before: fakeModel("turn", "python3 agent.py --turn"), want: modelLines, after: wantFile("made", "by a model\n")},
		{
			text: "hello", before: withFile("config.json", `{"terminal": {"command": "python3 agent.py", "protocol": "keys", "env": {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}}}`), status: 1,
			want: []line{{kind: "error", texts: []string{"Error: The agent has ended before the task was complete (exit status 1)\nSTDERR: the model at http://127.0.0.1:1/v1 cannot be asked: <urlopen error [Errno 111] Connection refused>\nExit code: 1"}}},
		},
	}},

	"keys-node": {needs: []string{"node", "bash"}, steps: keysSteps("node")},
	"keys-go":   {needs: []string{"go", "bash"}, steps: keysSteps("go")},
	"keys-rust": {needs: []string{"rustc", "cc", "bash"}, steps: keysSteps("rust")},

	"screen-shell": {needs: []string{"bash"}, steps: []step{{
		text: "echo $((6 * 7)) > answer; clear; cat answer; PS1=; exit 0", after: wantFile("answer", "42\n"),
		want: []line{message("The program has ended (exit status 0).\n42\nexit")},
	}}},

	"blocks-scripted": {needs: []string{"python3"}, steps: []step{
		{
			text: "go on", after: wantFile("project/src/hello.py", "print(\"hello\")\n"), // nobody is there to approve the command
			want: scriptedLines(
				progress("💻 `REJECTED: not approved: python3 src/hello.py` 🚫"),
				message("src/hello.py is there. I could not try it.\n\nCreated: `src/hello.py`")),
		},
		{text: "/diff", want: []line{message("What this task has changed: go on", "*.diff")}, after: wantSent("--- /dev/null\n+++ b/src/hello.py\n@@ -0,0 +1 @@\n+print(\"hello\")\n")},
		{
			text: "/undo", after: wantNoFile("project/src/hello.py"),
			want: []line{message("Undone: go on\nRemoved: `src/hello.py`\nCommands that were run (RUN_COMMAND) are not undone.")},
		},
		{
			text: "go on", before: withFile("config.json", `{"terminal": {"command": "python3 ../agent.py", "protocol": "blocks", "cwd": "project", "blocks": {"approve": "never"}}}`),
			want: scriptedLines(
				progress("💻 `python3 src/hello.py` …"), progress("💻 `Ran 'python3 src/hello.py' (exit code 0)` ✓\n│ `hello`"),
				message("src/hello.py is there, and it prints hello.\n\nCreated: `src/hello.py`")),
		},
	}},

	"runbook-deploy": {needs: []string{"python3"}, steps: []step{{text: "hello", want: []line{message("Send /run deploy.")}}}},
	"blocks-ollama": {steps: []step{{
		text: "Write a file.", before: fakeOllama, after: wantFile("project/made.txt", "by a model\n"),
		want: []line{roundLine(1), progress("✏️ `Created 'made.txt'` ✓"), roundLine(2), message("Created: `made.txt`\n```diff\n--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+by a model\n```"), message("The file is written.\n\nCreated: `made.txt`")},
	}}},

	"fortune-plain": {needs: []string{"cksum", "sed"}, steps: []step{
		{text: "will it work?", want: []line{message("Yes, but not on a Monday.")}},
		{text: "will it work?", want: []line{message("Yes, but not on a Monday.")}},
		{text: "'; touch here; $(touch here) `touch here` \"", want: []line{message("The answer is in the log.")}, after: wantNoFile("here")},
	}},

	"voice": {steps: []step{{text: "typed", want: []line{message("You said: typed")}}}}, // and see voice_test.go
	"media-plain": {needs: []string{"python3"}, steps: []step{
		{text: "3 1 4 1.5", want: []line{message("4 numbers, up to 4: {workspace}/charts/e92deb7e1e53.png", "e92deb7e1e53.png")}, after: wantPictures(120, 160)},
		{text: "'quoted' and none", want: []line{message("Send me some numbers, such as: 3 1 4 1 5")}},
	}},
}

func TestEveryExampleAnswersAsItsReadmeSays(t *testing.T) {
	t.Parallel()
	for _, name := range exampleFolders(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			example, ok := examples[name]
			if !ok {
				t.Fatalf("the folder %s has no entry in the table", name)
			}
			skipWithout(t, example.needs...)
			workspace := copyFolder(t, name)
			for i, s := range example.steps {
				t.Logf("step %d: %q", i+1, s.text)
				runStep(t, workspace, s)
			}
		})
	}
}

func TestEveryTestedExampleHasAFolder(t *testing.T) {
	t.Parallel()
	for name := range examples {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("an entry without its folder: %v", err)
		}
	}
}

func TestEveryConfigPassesCheckConfigWithoutAWarning(t *testing.T) {
	t.Parallel()
	for _, name := range exampleFolders(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := filepath.Join(name, "config.json")
			r := nanobot(t, "check-config", "--config", config)
			if r.status != 0 || r.stdout != config+": ok\n" || r.stderr != "" {
				t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
			}
		})
	}
}

func TestEveryExampleIsInTheTableAndSaysHowToTryIt(t *testing.T) {
	t.Parallel()
	table := musttest.Get(os.ReadFile("README.md"))(t)
	for _, name := range exampleFolders(t) {
		if !bytes.Contains(table, []byte("["+name+"]("+name+")")) {
			t.Errorf("README.md does not list %s", name)
		}
		readme, err := os.ReadFile(filepath.Join(name, "README.md"))
		if err != nil {
			t.Error(err)
			continue
		}
		command, argument := "chat", ""
		if runbooks, _ := filepath.Glob(filepath.Join(name, "runbooks", "*.md")); len(runbooks) == 1 {
			command, argument = "runbook run", " "+strings.TrimSuffix(filepath.Base(runbooks[0]), ".md")
		}
		try := "\n    nanobot " + command + argument + "\n"
		if !strings.Contains(string(readme), "n a copy of this folder") || !strings.Contains(string(readme), try) {
			t.Errorf("%s/README.md does not say: %s", name, strings.TrimSpace(try))
		}
	}
}
