package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// pictureScript is a prompt that makes the agent of the tests show pictures.
func pictureScript(contents ...string) string {
	var b strings.Builder
	for _, c := range contents {
		fmt.Fprintf(&b, `raw {"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":"%s"}}`+"\n",
			base64.StdEncoding.EncodeToString([]byte(c)))
	}
	return b.String()
}

// runProgramIn runs the real program in a folder and returns what it prints.
func runProgramIn(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "NANOBOT_TEST_MAIN=1", "NANOBOT_CONFIG=")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, problems.String())
	}
	return string(out)
}

// checkFiles checks that files still exist, in the folder of the chat, each with its content.
func checkFiles(t *testing.T, dir string, paths, contents []string) {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || len(paths) != len(contents) {
		t.Fatalf("printed %q, of %d files (%v)", paths, len(contents), err)
	}
	for i, path := range paths {
		if b, err := os.ReadFile(path); err != nil || string(b) != contents[i] {
			t.Errorf("%s holds %q (%v), want %q", path, b, err, contents[i])
		}
		if got := filepath.Dir(path); got != filepath.Join(dir, "users", "local") && got != filepath.Join(real, "users", "local") {
			t.Errorf("%s is not in the chat's folder", path)
		}
	}
}

func TestFilesOfAnACPAgentExistAfterRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	agent := acpAgent(t, "")
	// A link in the chat's folder must not lead the copy elsewhere, and a file must not be
	// overwritten.
	users, outside := filepath.Join(dir, "users", "local"), filepath.Join(t.TempDir(), "outside")
	musttest.Do(t, os.MkdirAll(users, 0o700))
	musttest.Do(t, os.Symlink(outside, filepath.Join(users, "image.png")))
	contents := []string{"picture", "another"}
	for range 2 { // the second must not take the places of the first
		out := runProgramIn(t, dir, "", "run", "--json", "--protocol", "acp", "--command", agent, pictureScript(contents...))
		var paths []string
		for line := range strings.Lines(out) {
			var shown struct{ Media []string }
			if err := json.Unmarshal([]byte(line), &shown); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			paths = append(paths, shown.Media...)
		}
		checkFiles(t, dir, paths, contents)
		contents = []string{"third", "fourth"}
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("the copy followed a link")
	}
	if kept, _ := filepath.Glob(users + "/*"); len(kept) != 5 {
		t.Errorf("the folder has %q", kept)
	}
}

func TestFilesOfAnACPAgentExistAfterChat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := pictureScript("picture"), pictureScript("another")
	out := runProgramIn(t, dir, one+two, "chat", "--protocol", "acp", "--command", acpAgent(t, ""))
	var paths []string
	for _, m := range regexp.MustCompile(`(?m)^📎 (\S+) \(`).FindAllStringSubmatch(out, -1) {
		paths = append(paths, m[1])
	}
	checkFiles(t, dir, paths, []string{"picture", "another"})
}
