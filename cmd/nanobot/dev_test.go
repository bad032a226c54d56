package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// devBot is nanobot dev in a folder, with the author at its page.
type devBot struct {
	*webBot
	dir    string
	author *browser
	next   func(name string) webEvent
}

// devAgent answers at once, unless it is told to be slow. It writes a file of its own.
const devAgent = `read -r line; text=${line#*'"text":"'}; text=${text%%'"'*}; date +%N > own.txt; touch began
	case $text in slow) while [ ! -e go ]; do sleep 0.01; done;; esac
	echo "{\"type\":\"message\",\"text\":\"VERSION $text\"}"
`

func startDev(t *testing.T, config string, args ...string) *devBot {
	t.Helper()
	d := &devBot{dir: t.TempDir()}
	if config != "" {
		d.write(t, "config.json", config)
	}
	d.write(t, "words.txt", "")
	d.write(t, "own.txt", "")
	d.write(t, "agent.sh", strings.ReplaceAll(devAgent, "VERSION", "first"))
	cmd := webCommand(t, d.dir)
	cmd.Args = append(cmd.Args[:len(cmd.Args)-1], append([]string{"dev", "--no-browser"}, args...)...)
	var link string
	d.webBot, link = startWebCommand(t, cmd)
	d.author = d.openLink(link)
	d.next = d.author.openEventStream()
	return d
}

// write saves a file, with a time that no earlier save had.
func (d *devBot) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	var before time.Time
	if info, err := os.Stat(path); err == nil {
		before = info.ModTime()
	}
	musttest.Do(t, os.WriteFile(path, []byte(content), 0o644))
	if info := musttest.Get(os.Stat(path))(t); !info.ModTime().After(before) {
		later := before.Add(time.Millisecond)
		musttest.Do(t, os.Chtimes(path, later, later))
	}
}

// version saves the agent with another answer.
func (d *devBot) version(name string) {
	d.t.Helper()
	d.write(d.t, "agent.sh", strings.ReplaceAll(devAgent, "VERSION", name))
}

func (d *devBot) awaitMessage(want string) {
	d.t.Helper()
	wanttest.Equal(d.t, "the answer", d.next("message").data.Text, want)
}

// panel returns the last turn as the page gets it.
func (d *devBot) panel() (p struct {
	Turn, Note string
	Lines      []struct{ Type string }
},
) {
	d.t.Helper()
	status, body := d.author.request(http.MethodGet, "/api/dev", "", nil)
	if status != http.StatusOK || json.Unmarshal([]byte(body), &p) != nil {
		d.t.Fatalf("answered is %d %s", status, body)
	}
	return p
}

// awaitNote waits until the panel says something.
func (d *devBot) awaitNote(want string) {
	d.t.Helper()
	for end := time.Now().Add(waitTimeout); !strings.Contains(d.panel().Note, want); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("the panel says %q, not %q", d.panel().Note, want)
		}
	}
}

func TestDevRunsTheLastMessageAgainAfterASave(t *testing.T) {
	t.Parallel()
	const config = `{"terminal": {"command": "sh agent.sh", "protocol": "rich"}}`
	d := startDev(t, config)
	chat := d.author.newChat()
	d.author.sendMessage(chat, "hello")
	d.awaitMessage("first hello")
	d.version("second")
	d.awaitMessage("second hello")
	envelopes := 0
	for _, line := range d.panel().Lines {
		if line.Type == "envelope" {
			envelopes++
		}
	}
	wanttest.Equal(t, "envelopes of the last turn:", envelopes, 1)
	// A running turn ends first, and the agent's own file does not run it again.
	musttest.Do(t, os.Remove(filepath.Join(d.dir, "began")))
	d.author.sendMessage(chat, "slow")
	d.awaitFile("began")
	d.awaitNote("changed while a turn ran")
	musttest.Do(t, os.Remove(filepath.Join(d.dir, "began")))
	d.version("third")
	d.awaitFile("began")
	d.write(t, "go", "")
	for {
		if text := d.next("message").data.Text; text == "third slow" {
			break
		} else if strings.HasPrefix(text, "second") {
			t.Fatal("the turn was not stopped")
		}
	}
	// The config is read again; a mistake changes nothing.
	d.write(t, "config.json", `{"terminal": {"command": "sh agent.sh", "protocol": "no"}}`)
	d.awaitNote("The config has a mistake")
	other := filepath.Join(t.TempDir(), "other.sh")
	musttest.Do(t, os.WriteFile(other, []byte("echo fourth"), 0o644))
	d.write(t, "config.json", `{"terminal": {"command": "sh `+other+`", "protocol": "plain"}}`)
	d.awaitMessage("fourth")
	musttest.Do(t, os.WriteFile(other, []byte("echo the fifth"), 0o644))
	d.awaitMessage("the fifth")
	if log := d.log(); strings.Contains(log, "not recorded") {
		t.Error(log)
	}
	d.signal(syscall.SIGINT)
	wanttest.Equal(t, "status", d.awaitExit(), 0)
	// The config names no folder for recorded turns, and forget finds them.
	cassettes := filepath.Join(d.dir, ".nanobot", "record", "*.nbt.jsonl")
	if found := musttest.Get(filepath.Glob(cassettes))(t); len(found) == 0 {
		t.Error("no turn is recorded")
	}
	mustRunProgram(t, "forget", "--config", filepath.Join(d.dir, "config.json"), "--yes", "web:operator")
	if found := musttest.Get(filepath.Glob(cassettes))(t); len(found) > 0 {
		t.Errorf("left are %q", found)
	}
}

// awaitFile waits until the agent has made a file.
func (d *devBot) awaitFile(name string) {
	d.t.Helper()
	for end := time.Now().Add(waitTimeout); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(d.dir, name)); err == nil {
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("there is no %s; the log says\n%s", name, d.log())
		}
	}
}

func TestDevSavesATurnThatReplays(t *testing.T) {
	t.Parallel()
	d := startDev(t, "", "sh agent.sh")
	resp := musttest.Get(d.author.Get("http://" + d.listen + "/api/openapi.json"))(t)
	defer resp.Body.Close()
	api := newAPIDescription(t, "http://"+d.listen, resp.Body)
	call := func(want int, method, body string) []byte {
		t.Helper()
		return api.request(want, apiRequest{as: &d.author.Client, method: method, path: "/api/dev", kind: isJSON, body: body})
	}
	call(200, "GET", "")
	call(400, "POST", `{"turn": "x", "name": "../x"}`)
	call(404, "POST", `{"turn": "x", "name": "x"}`)
	call(404, "POST", `{"turn": "../x", "name": "x"}`)
	chat := d.author.newChat()
	d.author.sendMessage(chat, "slow")
	d.awaitFile("began")
	for end := time.Now().Add(waitTimeout); d.panel().Turn == "" && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	turn := d.panel().Turn
	save := encodeJSON(map[string]string{"turn": turn, "name": "slow"})
	call(409, "POST", save)
	d.write(t, "go", "")
	d.awaitMessage("first slow")
	awaitTypes := []string{"cassette", "envelope", "frame", "exit", "send", "receipt"}
	for end := time.Now().Add(waitTimeout); ; time.Sleep(10 * time.Millisecond) {
		found := map[string]bool{}
		for _, line := range d.panel().Lines {
			found[line.Type] = true
		}
		missing := ""
		for _, name := range awaitTypes {
			if !found[name] {
				missing = name
			}
		}
		if missing == "" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("there is no %s in %v", missing, d.panel())
		}
	}
	var answer struct{ Command string }
	musttest.Do(t, json.Unmarshal(call(200, "POST", save), &answer))
	wanttest.Equal(t, "the command", answer.Command, "nanobot replay --protocol rich --command 'sh agent.sh' tests/slow.nbt.jsonl")
	call(409, "POST", save)

	replay := func() (string, error) {
		cmd := exec.Command("sh", "-c", strings.Replace(answer.Command, "nanobot", `"$NANOBOT"`, 1))
		program := programCommand(t)
		cmd.Dir, cmd.Env = d.dir, append(program.Env, "NANOBOT="+program.Path)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		return out.String(), err
	}
	if out, err := replay(); err != nil {
		t.Errorf("replay: %v\n%s", err, out)
	}
	d.version("second")
	if out, err := replay(); err == nil || !strings.Contains(out, "second slow") {
		t.Errorf("another agent replays: %v\n%s", err, out)
	}
}
