package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
)

// TestTheCommandsOfThePagesWork runs the sh and console blocks of each page, in their order and in
// one folder, which begins as a copy of testdata/docs/PAGE, or with the page's first whole config;
// programs in its folder bin are found first. A block that cannot be run here says so in the page:
// <!-- not tested: reason -->. In a console block each line after "$ " is a command and the lines
// below are its output, in which … stands for any text.
func TestTheCommandsOfThePagesWork(t *testing.T) {
	t.Parallel()
	for _, p := range docsPages(t) {
		var run []fencedBlock
		blocks, _ := p.fencedBlocks()
		for _, b := range blocks {
			switch b.language {
			case "bash", "shell", "zsh":
				t.Errorf("%s:%d: a block of commands is called sh or console", p.path, b.line)
			case "sh", "console":
				switch {
				case b.notTested != "":
				case changesTheMachine.MatchString(b.code):
					t.Errorf("%s:%d: this changes the machine; say why it is not tested", p.path, b.line)
				default:
					run = append(run, b)
				}
			}
		}
		if len(run) == 0 {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			t.Parallel()
			r := newPageReader(t, p)
			for _, b := range run {
				r.runBlock(b)
			}
		})
	}
}

// changesTheMachine matches commands that no test may run.
var changesTheMachine = regexp.MustCompile(`\b(sudo|systemctl|apt|dnf|npm)\b|/etc/|/var/|rm -r`)

// pageReader is somebody who does what a page says.
type pageReader struct {
	*testing.T
	page   docsPage
	folder string // the reader's working directory
	home   string
	bin    string // a folder with programs that stand for others, which need a network
}

func newPageReader(t *testing.T, p docsPage) *pageReader {
	t.Helper()
	r := &pageReader{T: t, page: p, folder: t.TempDir(), home: t.TempDir()}
	r.bin = filepath.Join(r.folder, "bin")
	files := filepath.Join("testdata", "docs", strings.ReplaceAll(strings.TrimSuffix(p.path, ".md"), "/", "-"))
	if _, err := os.Stat(files); err == nil {
		musttest.Do(t, os.CopyFS(r.folder, os.DirFS(files)))
		return r
	}
	blocks, _ := p.fencedBlocks()
	for _, b := range blocks {
		if b.language == "jsonc" && strings.HasPrefix(b.code, "{") {
			musttest.Do(t, os.WriteFile(filepath.Join(r.folder, "config.json"), []byte(b.code), 0o600))
			break
		}
	}
	return r
}

// runBlock runs a block and compares the output, if the page shows one.
func (r *pageReader) runBlock(b fencedBlock) {
	r.Helper()
	for word, program := range map[string]string{"python": "python3", "vim": "vim"} {
		if _, err := exec.LookPath(program); err != nil && strings.Contains(b.code, word) {
			r.Skip(err)
		}
	}
	if b.language == "sh" {
		if out, err := r.run(b.code); err != nil {
			r.Fatalf("%s:%d: %v\n%s", r.page.path, b.line, err, out)
		}
		return
	}
	for step := range strings.SplitSeq("\n"+b.code, "\n$ ") {
		if step == "" {
			continue
		}
		command, want, _ := strings.Cut(step, "\n")
		got, _ := r.run(command) // its status is not shown
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", "(?s:.*)")
		if !regexp.MustCompile("^" + pattern + "$").MatchString(strings.TrimSpace(got)) {
			r.Errorf("%s:%d: %s\nprints\n%s\nand the page shows\n%s", r.page.path, b.line, command, got, want)
		}
	}
}

// run runs commands in the reader's working directory, which they may change for the next ones.
func (r *pageReader) run(commands string) (output string, err error) {
	r.Helper()
	changed := filepath.Join(r.home, "folder")
	cmd := exec.Command("sh", "-eu", "-c", commands+"\npwd >"+changed)
	cmd.Dir, cmd.Env = r.folder, append(environWithoutTestSettings(), "HOME="+r.home, "NO_COLOR=1", "PATH="+r.bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if folder, readErr := os.ReadFile(changed); readErr == nil {
		r.folder = strings.TrimSpace(string(folder))
	}
	return string(out), err
}

// TestTheConfigsOfThePagesAreValid loads every jsonc block: a whole config, or some of its
// sections.
func TestTheConfigsOfThePagesAreValid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "token.txt"), []byte("123456789:AAE0123456789abcdefghijklmnopqrstuv\n"), 0o600))
	musttest.Do(t, os.Mkdir(filepath.Join(dir, "project"), 0o700))
	path := filepath.Join(dir, "config.json")
	for _, p := range docsPages(t) {
		blocks, _ := p.fencedBlocks()
		for _, b := range blocks {
			if b.language != "jsonc" {
				continue
			}
			text := b.code
			if !strings.HasPrefix(strings.TrimSpace(text), "{") {
				text = "{" + text + "}"
			}
			text = strings.ReplaceAll(text, "YOUR-ID", "123456789")
			musttest.Do(t, os.WriteFile(path, []byte(text), 0o600))
			if _, err := config.Load(path, nil, extensions()); err != nil {
				t.Errorf("%s:%d: %v", p.path, b.line, err)
			}
		}
	}
}
