package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels/markdown"
	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// findLinks returns the links of a text, as the daemon does.
func findLinks(text string) (links []terminal.Link) {
	for _, l := range markdown.Links(text) {
		links = append(links, terminal.Link(l))
	}
	return links
}

// linkFixture is a fixture whose agent works in the folder project of its workspace, the only one
// from which files may be sent.
func linkFixture(t *testing.T) (p *person, project string) {
	t.Helper()
	project = filepath.Join(t.TempDir(), "project")
	p = newFixture(t, "", func(c *config.Terminal) { c.Cwd, c.MediaRoots = project, []string{project} }, allowAll).person("a")
	outside := filepath.Join(filepath.Dir(project), "outside.txt")
	for _, path := range []string{
		filepath.Join(project, "plot.png"), filepath.Join(project, "out", "report.pdf"), filepath.Join(project, "my file.txt"),
		filepath.Join(project, "100%.txt"), filepath.Join(project, "a.go"), filepath.Join(project, "b.go"), outside,
	} {
		writeTestFile(t, path)
	}
	for link, target := range map[string]string{"again.png": "plot.png", "leak.txt": outside} {
		musttest.Do(t, os.Symlink(target, filepath.Join(project, link)))
	}
	return p, project
}

func writeTestFile(t *testing.T, path string) {
	t.Helper()
	musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	musttest.Do(t, os.WriteFile(path, []byte("content"), 0o600))
}

// sentFiles returns the messages with files: the names of the files of each.
func (h *turnResult) sentFiles() string {
	var all []string
	for _, f := range h.frames {
		var names []string
		for _, file := range f.Checked {
			names = append(names, filepath.Base(file.Path))
		}
		if len(names) > 0 {
			all = append(all, strings.Join(names, " "))
		}
	}
	return strings.Join(all, " | ")
}

func TestFilesThatAMessageLinksToAreSent(t *testing.T) {
	t.Parallel()
	p, project := linkFixture(t)
	for name, c := range map[string]struct{ prompt, want string }{
		"an image":             {"say Here: ![a plot](plot.png)", "plot.png"},
		"one message, one set": {"say ![a](plot.png) and [b](out/report.pdf), [c](./a.go).", "plot.png report.pdf a.go"},
		"two messages":         {"message 1 ![a](plot.png)\nmessage 2 [b](out/report.pdf)", "plot.png | report.pdf"},
		"absolute":             {"say [a](" + project + "/plot.png)", "plot.png"},
		"a file URL":           {"say [a](file://" + strings.ReplaceAll(project, "project", "%70roject") + "/plot.png) <file://" + project + "/a.go>", "plot.png a.go"},
		"spaces and percents":  {"say [a](my%20file.txt) [b](<100%.txt>)", "my file.txt 100%.txt"},
		"the same file":        {"message 1 [a](plot.png) [b](./out/../plot.png) [c](again.png)\nmessage 2 ![a](plot.png)", "plot.png"},
		"before a tool call":   {"say See ![a](plot.png).\ntool t read x\nstatus t completed\nsay done", "plot.png"},
		"also a resource": {
			`raw {"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","name":"x","uri":"file://` + project + `/plot.png"}}` + "\nsay That was [a](plot.png).", "plot.png",
		},
		"made later":           {"say I write [x](later.txt).\ntool t edit x\nwrite " + project + "/later.txt text\nstatus t completed\nsay Here: [x](later.txt)", "later.txt"},
		"outside":              {"say [a](../outside.txt) [b](" + project + "/../outside.txt) [c](leak.txt)", ""},
		"missing or a folder":  {"say [a](gone.txt) [b](out) [c]()", ""},
		"elsewhere":            {"say [a](https://example.com/plot.png) [b](mailto:a.go) [c](file://host" + project + "/plot.png)", ""},
		"line numbers":         {"say [a](a.go:12) [a](a.go:12:5) [a](a.go:12-20) [a](a.go#L12) [a](a.go#L12-L20) [a.go:3](a.go) [`b.go#L7`](b.go)", ""},
		"a time in its name":   {"say [Plot of 12:30](plot.png)", "plot.png"},
		"code":                 {"say `[a](a.go)`", ""},
		"thoughts":             {"think [a](a.go)\nsay done", ""},
		"text of a tool":       {`tool t read x` + "\n" + `status t completed [{"type":"content","content":{"type":"text","text":"[a](a.go)"}}]` + "\nsay done", ""},
		"what a tool has read": {`tool t read x` + "\n" + `status t completed [{"type":"content","content":{"type":"resource_link","name":"a","uri":"file://` + project + `/a.go"}}]` + "\nsay done", ""},
		"a bare path":          {"say plot.png and " + project + "/plot.png", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := p.send(c.prompt)
			wanttest.Equal(t, "sent", h.sentFiles(), c.want)
			if said := h.text(terminal.Message); h.out.Status != terminal.Done || strings.Contains(said, "⚠") || strings.Contains(said, "not sent") {
				t.Errorf("%s: %q %q", h.out.Status, said, h.text(terminal.Error))
			}
		})
	}
}

func TestALinkedFileIsSentAgainInTheNextTurn(t *testing.T) {
	t.Parallel()
	p, _ := linkFixture(t)
	for range 2 {
		wanttest.Equal(t, "sent", p.send("say ![a](plot.png)").sentFiles(), "plot.png")
	}
}

func TestAFileThatAToolHasSentIsNotSentAgainForALink(t *testing.T) {
	t.Parallel()
	p, project := linkFixture(t)
	p.onFrame = func(f terminal.Frame) {
		if !shows(f, "wait") {
			return
		}
		files, err := p.runner.OpenMedia(terminal.Owner{Channel: "cli", ChatID: "a"}, project, []string{"plot.png"})
		if err != nil {
			t.Error(err)
		}
		terminal.CloseMedia(files)
		writeTestFile(t, p.path("go"))
	}
	wanttest.Equal(t, "sent", p.send("tool t other wait\nuntil "+p.path("go")+"\nsay I sent [a](plot.png) and [b](a.go).").sentFiles(), "a.go")
}
