package examples_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// roundLine is the progress line of a round.
func roundLine(n int) line {
	return progress(fmt.Sprintf("Round %d\n▶ waiting for the model's answer", n))
}

// scriptedLines returns the lines of a run of blocks-scripted. ending has the lines of its command
// and the final message.
func scriptedLines(ending ...line) []line {
	begin := []line{
		roundLine(1), message("I read notes.md."), progress("📖 `Queued 'notes.md' for next outbox` ✓"),
		roundLine(2), progress("✏️ `Created 'src/hello.py'` ✓"), progress("✏️ `Edited 'src/hello.py' lines 1-1` ✓"),
	}
	diff := message("Created: `src/hello.py`\n```diff\n--- /dev/null\n+++ b/src/hello.py\n@@ -0,0 +1 @@\n+print(\"hello\")\n```")
	last := len(ending) - 1
	return slices.Concat(begin, ending[:last], []line{roundLine(3), diff}, ending[last:])
}

// fakeOllama is a step's before: it puts a program named ollama at the front of the agent's PATH,
// which answers as a model would.
func fakeOllama(t *testing.T, workspace string) {
	t.Helper()
	const program = `#!/bin/sh
test "$*" = "run --hidethinking qwen3-coder" || exit 2
if grep -q '^Sequence: 1$'
then printf 'I write it.\n[CREATE_FILE path="made.txt"]\nby a model\n\n[/CREATE_FILE]\n'
else printf '[DONE]\nThe file is written.\n[/DONE]\n'
fi
`
	bin := filepath.Join(workspace, "bin")
	musttest.Do(t, os.Mkdir(bin, 0o755))
	musttest.Do(t, os.WriteFile(filepath.Join(bin, "ollama"), []byte(program), 0o755))
	config := filepath.Join(workspace, "config.json")
	path := `"terminal": { "env": { "PATH": "` + bin + string(os.PathListSeparator) + os.Getenv("PATH") + `" },`
	putFile(t, config, []byte(strings.Replace(string(readFile(t, config)), `"terminal": {`, path, 1)))
}
