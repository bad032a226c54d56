package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// story is a story of docs/automation.md, told with a real daemon and a Telegram of its own.
type story struct {
	*testing.T
	api    *telegramtest.Server
	folder string
	block  string // of the story
	listen string
	bot    *program
}

// tell starts the daemon of a story. config is "" if the story's block is the config.
func tell(t *testing.T, heading, config, agent string, replace ...string) *story {
	t.Helper()
	_, text, found := strings.Cut(pageAt(t, "docs/automation.md").text, "### "+heading+"\n")
	if !found {
		t.Fatalf("there is no story %q", heading)
	}
	blocks, _ := docsPage{"docs/automation.md", text}.fencedBlocks()
	s := &story{T: t, api: telegramtest.New(t), folder: t.TempDir(), block: blocks[0].code, listen: freeAddress(t)}
	if config == "" {
		config = s.block
	}
	base := `"allowFrom": ["114"], "apiBase": "` + s.api.URL + `"`
	config = strings.NewReplacer(append(replace, `"allowFrom": ["114"]`, base, "127.0.0.1:8080", s.listen)...).Replace(config)
	for name, content := range map[string]string{
		"config.json": config, "token": s.api.Token, "hook-secret": "a secret of the third story\n", "report.sh": agent, "review.py": agent,
	} {
		musttest.Do(t, os.WriteFile(filepath.Join(s.folder, name), []byte(content), 0o600))
	}
	s.api.AddUser(telegramtest.User{ID: 114})
	linkProgram(t, filepath.Join(s.folder, "nanobot"))
	s.bot = startProgram(t, "serve", "--config", filepath.Join(s.folder, "config.json"))
	s.bot.awaitLog("ready")
	return s
}

// run runs a script in the folder of the story and returns what it prints.
func (s *story) run(script string) string {
	s.Helper()
	cmd := exec.Command("sh", "-eu", "-c", script)
	cmd.Dir = s.folder
	cmd.Env = append(environWithoutTestSettings(), "PATH="+s.folder+":"+os.Getenv("PATH"), "NANOBOT_CONFIG=config.json")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("%v: %s\n%s", err, out, s.bot.log())
	}
	return string(out)
}

func TestTheStoriesOfTheAutomationPage(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"curl", "openssl", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	t.Run("backup", func(t *testing.T) {
		t.Parallel()
		s := tell(t, "Tell me when a backup fails", `{"terminal": {"command": "true"}, "channels": {"telegram": {"enabled": true, "token": "file:token", "allowFrom": ["114"]}}}`, "")
		s.run(s.block)
		s.api.WaitForText(t, 114, "The backup has failed. no space left on /srv")
		// on the same day
		s.run(s.block)
		s.run("nanobot send --chat telegram:114 --wait later")
		wanttest.Equal(t, "messages", len(s.api.BotMessages(114)), 2)
	})
	t.Run("report", func(t *testing.T) {
		t.Parallel()
		s := tell(t, "A weekly report by an agent", "", `echo "asked: $NANOBOT_TEXT"`, `"0 9 * * 1"`, `"* * * * * *"`)
		s.api.WaitForText(t, 114, "asked: What has happened this week?")
		if out := s.run("nanobot schedules --json"); !strings.Contains(out, `"timezone":"Europe/Berlin"`) && !strings.Contains(out, `"timezone": "Europe/Berlin"`) {
			t.Errorf("the schedules are %s", out)
		}
	})
	t.Run("review", func(t *testing.T) {
		t.Parallel()
		s := tell(t, "A pull request is reviewed by an agent in a topic", "", `import json, sys
envelope = json.loads(sys.stdin.readline())
print(json.dumps({"type": "message", "text": envelope["origin"] + " in " + envelope["chat_id"] + ": " + envelope["text"]}))
`)
		const group = -1001234567890
		for s.api.AddTopic(group, "reviews") < 7 {
		}
		statuses := s.run(`post() {
			sign=$(printf %s "$1" | openssl dgst -sha256 -hmac "$(cat hook-secret)" | sed 's/.*= //')
			curl -s -o /dev/null -w '%{http_code} ' -H "X-Hub-Signature-256: sha256=$sign" -H "X-GitHub-Delivery: $2" --data-binary "$1" http://` + s.listen + `/hooks/review
		}
		opened='{"action": "opened", "pull_request": {"html_url": "https://github.com/a/b/pull/3", "title": "Fix *it*"}}'
		post "$opened" 1; post "$opened" 1; post '{"action": "closed"}' 2
		curl -s -o /dev/null -w '%{http_code}' -H 'X-Hub-Signature-256: sha256=00' -d "$opened" http://` + s.listen + `/hooks/review`)
		wanttest.Equal(t, "statuses", statuses, "202 200 202 401")
		messages, ok := s.api.AwaitMessages(group, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
			return len(all) == 1 && strings.Contains(all[0].TextOrCaption(), "Review") // the progress is gone
		})
		if !ok {
			t.Fatalf("the topic shows %+v", messages)
		}
		last := messages[0]
		if want := "hook:review in -1001234567890_7: Review the pull request https://github.com/a/b/pull/3: Fix *it*"; last.TextOrCaption() != want || last.Thread != 7 {
			t.Errorf("topic %d shows %q, want %q", last.Thread, last.TextOrCaption(), want)
		}
	})
}
