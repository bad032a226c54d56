package terminal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// hostileTexts are texts that a careless command line would parse as options, commands or several
// words.
var hostileTexts = []string{
	"-rve", "--help", optionAndCommand, "`touch pwned`; touch pwned | \ntouch pwned #", "$(touch pwned) && touch pwned", `it's "quoted" \`, "  leading blanks", "",
	"* ~ {message} $HOME", "\x00-rve",
}

// optionAndCommand is a text that is neither to be an option nor to be evaluated.
const optionAndCommand = "-e $(touch pwned)"

// standIns are the programs of the cases of internal/placeholder that are replaced by a script,
// which records its arguments.
var standIns = strings.Fields("grep egrep fgrep rg ag git prog claude llm python3 node perl sudo busybox cargo find jq tee expr curl rm codex uv gosu java aider")

const standIn = `#!/bin/sh
for word; do printf '%s\000' "$word"; done >> "$GOT"
`

// wordWithText matches a word of a command that contains the placeholder.
var wordWithText = regexp.MustCompile(`[A-Za-z0-9=./-]*\{message\}[A-Za-z0-9.]*`)

// TestTheTextReachesTheProgramAsOneWord runs each command with three texts, or with all texts with
// NANOBOT_LONG=1.
func TestTheTextReachesTheProgramAsOneWord(t *testing.T) {
	table := musttest.Get(os.ReadFile("../internal/placeholder/testdata/cases.txt"))(t)
	here := t.TempDir()
	musttest.Do(t, os.Mkdir(filepath.Join(here, "bin"), 0o755))
	for _, name := range standIns {
		musttest.Do(t, os.WriteFile(filepath.Join(here, "bin", name), []byte(standIn), 0o755))
	}
	ran := 0
	for line := range strings.Lines(string(table)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 || f[0] == "refused" {
			continue
		}
		shell := musttest.Get(exec.LookPath(f[1]))(t)
		ran++
		turn := ran
		command := strings.ReplaceAll(f[2], `\n`, "\n")
		t.Run(f[2], func(t *testing.T) {
			t.Parallel()
			for i, text := range hostileTexts {
				if !killtest.IsLong() && i%5 != turn%5 && text != optionAndCommand {
					continue
				}
				checkOneWord(t, here, shell, command, text, f[0] == "warned")
			}
		})
	}
	if ran < 60 {
		t.Errorf("only %d commands were run", ran)
	}
}

func checkOneWord(t *testing.T, here, shell, command, text string, warned bool) {
	b := newTurnFixture(t, "plain", "{ "+command+"\n} > out")
	b.putFile("script.sh", standIn[len("#!/bin/sh\n"):])
	got := filepath.Join(b.workspace, "got")
	b.opts.Config.Shell = shell
	b.opts.Environ = []string{"PATH=" + filepath.Join(here, "bin") + ":/usr/bin:/bin", "HERE=" + here, "GOT=" + got, "HOME=" + b.workspace}
	b.req.Text = text
	if b.run(); b.err != nil {
		t.Fatal(b.err)
	}
	recorded, _ := os.ReadFile(got)
	words := strings.Split(string(recorded), "\x00")
	printed, _ := os.ReadFile(filepath.Join(b.workspace, "out"))
	text = strings.ReplaceAll(text, "\x00", "") // which no word can hold
	arrived := false
	for _, w := range wordWithText.FindAllString(command, -1) {
		word := text
		if warned && strings.HasPrefix(w, "{message}") && strings.HasPrefix(text, "-") {
			word = " " + text
		}
		word = strings.Replace(w, "{message}", word, 1)
		builtin := strings.HasPrefix(command, "echo") || strings.HasPrefix(command, "printf")
		arrived = arrived || slices.Contains(words, word) || builtin && strings.TrimSuffix(string(printed), "\n") == word
	}
	if !arrived {
		t.Errorf("%q arrived as %q, printed %q (%v)", text, words, printed, b.frames)
	}
	if warned && strings.HasPrefix(text, "-") && slices.Contains(words, text) {
		t.Errorf("%q could be an option: %q", text, words)
	}
	if _, err := os.Stat(filepath.Join(b.workspace, "pwned")); err == nil {
		t.Errorf("%q ran a command", text)
	}
}
