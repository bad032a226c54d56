package main

import (
	"archive/zip"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
)

// v18Run is the run of the fixture.
const v18Run = "c308b369d455"

// TestAStateOfSchema18OpensAndContinues opens the workspace of a daemon with the chat page that was
// killed while an agent waited for the answer to a question, and a run of a runbook for a person.
// The binary of 17 November 2026 has written it.
func TestAStateOfSchema18OpensAndContinues(t *testing.T) {
	t.Parallel()
	b := openStateV18(t)
	b.webBot.start()
	ann := b.signIn("--user", "ann")
	b.chooseBlue(ann)
	b.awaitChat(ann, "user: hello", "bot: re hello", "user: ask", "bot: Which one?", "bot: you chose Blue")
	resume := programCommand(t, "runbook", "run", "--json", "--resume", v18Run, "--config", b.cfg)
	resume.Stdin = strings.NewReader("yes\napprove\n")
	if out, err := resume.CombinedOutput(); err != nil || !strings.Contains(string(out), `{"kind":"run","run":"`+v18Run+`","status":"complete"}`) {
		t.Errorf("the run is resumed with %s, %v", out, err)
	}
	if out := b.beside("runbook", "verify", v18Run); !strings.Contains(out, "is complete, and its 2 records are valid") {
		t.Errorf("the run is verified as %s", out)
	}
}

// chooseBlue presses the second button of the question that the page shows.
func (b *earlierBot) chooseBlue(p *browser) {
	b.t.Helper()
	status, page := p.request("GET", "/api/chats/"+webChat+"/messages", "", nil)
	question := regexp.MustCompile(`"id":"(\w+)","from":"bot","kind":"message","html":"<p>Which one\?</p>".*?"data":"(answer:\w+:2)"`).FindStringSubmatch(page)
	if question == nil {
		b.t.Fatalf("the history is answered %d %s", status, page)
	}
	p.pressButton(webChat, question[1], question[2])
}

// awaitChat waits until the chat of the page has these messages.
func (b *earlierBot) awaitChat(p *browser, want ...string) {
	b.t.Helper()
	var got []string
	for deadline := time.Now().Add(waitTimeout); len(got) < len(want) && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var shown struct{ Messages []webMessage }
		_, page := p.request("GET", "/api/chats/"+webChat+"/messages", "", nil)
		musttest.Do(b.t, json.Unmarshal([]byte(page), &shown))
		got = nil
		for _, m := range shown.Messages {
			got = append(got, m.From+": "+m.Text)
		}
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("the chat page shows\n%q and should show\n%q", got, want)
	}
}

// openStateV18 unpacks the fixture and moves its question, which expires, to the present.
func openStateV18(t *testing.T) *earlierBot {
	t.Helper()
	b := &earlierBot{dir: t.TempDir()}
	b.webBot = webBot{t: t, listen: freeAddress(t), cfg: filepath.Join(b.dir, "config.json")}
	archive := musttest.Get(zip.OpenReader(filepath.Join("testdata", "state-v18.zip")))(t)
	defer archive.Close()
	musttest.Do(t, os.CopyFS(b.dir, archive))
	b.makePrivate()
	db := openDatabase(t, filepath.Join(b.dir, "state", gatewayDatabase))
	execSQL(t, db, "UPDATE question SET expires = ?", time.Now().Add(time.Hour).UnixMicro())
	// By this name a daemon finds the agents that it left.
	execSQL(t, db, "UPDATE memory SET value = ? WHERE chat = ':' AND key = 'kept'", rand.Text())
	musttest.Do(t, db.Close())
	musttest.Do(t, os.WriteFile(b.cfg, fmt.Appendf(nil, `{
		"terminal": {"command": "sh agent.sh", "protocol": "rich", "interactive": true},
		"channels": {"web": {"enabled": true}},
		"http": {"listen": %q, "hosts": ["bot.example.com"]},
		"gateway": {"stateDir": "state", "onCrash": "retry"},
	}`, b.listen), 0o600))
	return b
}
