package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// earlierBot is the real daemon with all three networks. Its state is in the folder state of its
// workspace.
type earlierBot struct {
	webBot
	dir string
	tg  *telegramtest.Server
	dc  *discordtest.Server
}

// newEarlierTelegram starts a Telegram that knows the people of the fixture.
func newEarlierTelegram(t *testing.T) *telegramtest.Server {
	t.Helper()
	s := telegramtest.New(t)
	for id := range int64(41) {
		if id > 0 {
			s.AddUser(telegramtest.User{ID: id})
		}
	}
	return s
}

// earlierMode is what the two daemons that make the fixture and the one that opens it are
// configured with differently.
type earlierMode struct{ telegram, delivery, onCrash string }

// earlierAgent logs each turn in ran.log. Turns that hang wait for the file go.
const earlierAgent = `read -r line; text=${line#*'"text":"'}; text=${text%%'"'*}
	say() { echo "{\"type\":\"$1\",\"text\":\"$2\"}"; }
	files=0
	case $line in *'"media":["'*) files=$(printf %s "${line#*'"media":['}" | cut -d']' -f1 | tr -cd , | wc -c); files=$((files + 1));; esac
	echo "$NANOBOT_CHAT_ID: $text ($files files)" >> ran.log
	case $text in
	hang*) say progress working; while [ ! -e go ]; do sleep 0.01; done; say message "$text finished";;
	ask) echo '{"type":"ask","id":"q1","text":"Which one?","options":["Red","Blue"]}'
		read -r answer; answer=${answer#*'"text":"'}; say message "you chose ${answer%%'"'*}";;
	three) say message one; say message two; say message three;;
	files) echo '{"type":"message","text":"files","media":["'$PWD'/a.png","'$PWD'/notes.txt"]}';;
	fail) echo trouble >&2; exit 3;;
	*) case $files in 0) say message "you said $text";; *) say message "got $files files";; esac;;
	esac
`

// write writes the configuration and the files of the agent into the workspace.
func (b *earlierBot) write(m earlierMode) {
	b.t.Helper()
	for name, content := range map[string]string{
		"agent.sh": earlierAgent, "token": webToken, "telegram.token": b.tg.Token, "discord.token": b.dc.Token,
		"a.png": string(telegramtest.PNG(20, 20)), "notes.txt": "some notes\n",
		"config.json": `{
			"terminal": {"command": "sh agent.sh", "protocol": "rich", "interactive": true},
			"channels": {
				"telegram": {"enabled": true, "token": "file:telegram.token", "apiBase": "` + b.tg.URL + `", "mode": "` + m.telegram + `",
					"webhookUrl": "http://` + b.listen + `/telegram", "allowFrom": ["7", "8", "9", "10", "11", "12", "13", "15", "16", "30", "31"]},
				"discord": {"enabled": true, "token": "file:discord.token", "apiBase": "` + b.dc.URL + `", "allowFrom": ["` + ada + `", "` + bob + `"]},
				"web": {"enabled": true},
			},
			"http": {"listen": "` + b.listen + `", "hosts": ["bot.example.com"], "token": "file:token"},
			"gateway": {"stateDir": "state", "delivery": "` + m.delivery + `", "onCrash": "` + m.onCrash + `"},
		}`,
	} {
		musttest.Do(b.t, os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600))
	}
}

// start starts a daemon that gathers albums until they are complete, however slow the machine is.
func (b *earlierBot) start() {
	b.t.Helper()
	b.program = startProgramWith(b.t, []string{"TEST_ALBUM_QUIET=1h"}, "serve", "--config", b.cfg)
	b.awaitLog(`"ready"`)
}

// beside runs a command beside the daemon and returns what it prints.
func (b *earlierBot) beside(args ...string) string {
	b.t.Helper()
	out, err := programCommand(b.t, append(args, "--config", b.cfg)...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// openDatabase opens a database of a state as it is, without the code that is tested.
func openDatabase(t *testing.T, path string) *sql.DB {
	t.Helper()
	db := musttest.Get(sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(300000)"))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execSQL(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// column returns the values of a query's only column.
func column(t *testing.T, db *sql.DB, query string, args ...any) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// awaitRow waits until a query returns a row.
func (p *program) awaitRow(db *sql.DB, query string) {
	p.t.Helper()
	for deadline := time.Now().Add(waitTimeout); len(column(p.t, db, query)) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("there is never a row of %s; the log says\n%s", query, p.log())
		}
	}
}
