package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/config"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// disturbance is something that must not change what a chat shows and what its buttons do.
type disturbance struct {
	name     string
	happen   func(b *telegramBot)
	restarts bool // the daemon is another one afterwards
}

var disturbances = []disturbance{
	{"a reload", (*telegramBot).reload, false},
	{"a restored backup", (*telegramBot).restoreBackup, true},
	{"an update from schema 18", (*telegramBot).updateFrom18, true},
}

// database opens the database of the bot.
func (b *telegramBot) database() *sql.DB {
	b.t.Helper()
	return openDatabase(b.t, filepath.Join(filepath.Dir(b.cfg), ".nanobot", gatewayDatabase))
}

// awaitReceipts waits until the results of all sends are stored. What they sent would be repeated
// otherwise after a kill.
func (b *telegramBot) awaitReceipts() {
	b.t.Helper()
	b.awaitRow(b.database(), "SELECT count(*) FROM outbox WHERE state = 'sending' HAVING count(*) = 0")
}

func (b *telegramBot) reload() {
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
}

// restoreBackup makes a backup while the daemon runs, loses the state and restores it.
func (b *telegramBot) restoreBackup() {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "backup.tar.gz")
	mustRunProgram(b.t, "backup", "--config", b.cfg, file)
	b.restart(syscall.SIGKILL, func() {
		musttest.Do(b.t, os.RemoveAll(filepath.Join(filepath.Dir(b.cfg), ".nanobot")))
		mustRunProgram(b.t, "restore", "--config", b.cfg, file)
	})
}

// updateFrom18 kills the daemon and reverts the migrations from schema 18, which only added columns
// and tables.
func (b *telegramBot) updateFrom18() {
	b.t.Helper()
	b.restart(syscall.SIGKILL, func() {
		db := b.database()
		for _, statement := range []string{
			sqlitetest.UndoTo21, "DROP INDEX question_secret", "ALTER TABLE question DROP COLUMN secret",
			"ALTER TABLE transient DROP COLUMN incoming", "ALTER TABLE transient DROP COLUMN owner",
			"DROP INDEX inbox_open", "DROP INDEX inbox_origin", "ALTER TABLE inbox DROP COLUMN origin",
			"CREATE INDEX inbox_open ON inbox (state, chat, id) WHERE ended = 0", "DROP TABLE schedule", "DROP TABLE occurrence",
			"PRAGMA user_version = 18",
		} {
			execSQL(b.t, db, statement)
		}
		musttest.Do(b.t, db.Close())
	})
}

func TestTheButtonsOfALiveScreenWorkAfterADisturbance(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	for _, d := range disturbances {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			b := startTelegramBot(t, telegramSetup{protocol: "screen", command: bashCommand, terminal: screenTerminal})
			c := b.watch(7)
			c.write("PS1='$ '; clear; seq 1 99 | less")
			m := c.awaitScreen("\n23\n")
			m.press("↓")
			m = c.awaitScreen("\n24\n")
			b.awaitReceipts()
			d.happen(b)
			m.press("↓") // in a new terminal, since the old one has ended
			now := c.awaitScreen("bash-")
			wanttest.Equal(t, "the message of the new terminal is", now.id, m.id)
			now.press("⏎")
			c.awaitScreen("\nbash-") // a second prompt
			c.write("echo fir''st")
			c.awaitScreen("\nfirst\n")
			wanttest.Equal(t, "the only message is", c.only().id, m.id)
		})
	}
}

func TestTheButtonsOfAWatchedTerminalWorkAfterADisturbance(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	for _, d := range disturbances {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			b := startTelegramBot(t, telegramSetup{
				protocol: "keys", terminal: `, "env": {"HOME": "` + home + `"}`,
				agent: strings.Replace(keysAgent(t, "echo wai''ting; read x; echo got $x", "echo do''ne"), "2) ", "2) while [ ! -e ~/go ]; do sleep 0.1; done; ", 1),
			})
			b.api.UserSends(7, "start")
			board := b.awaitMessage(7, "\nwaiting")
			b.awaitRow(b.database(), "SELECT count(*) FROM transient HAVING count(*) = 1")
			d.happen(b)
			if d.restarts { // the turn was cut off
				report := b.awaitMessage(7, "restarted")
				shown, ok := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
					return !slices.ContainsFunc(all, func(m telegramtest.Message) bool { return m.ID == board.ID })
				})
				if !ok {
					t.Fatalf("the board of the earlier turn is still there: %+v", shown)
				}
				b.pressButton(report, "Run again")
				board = b.awaitMessage(7, "\nwaiting")
			}
			b.pressButton(board, "Take over")
			b.awaitMessage(7, "The terminal is yours")
			musttest.Do(t, os.WriteFile(filepath.Join(home, "go"), nil, 0o600)) // the agent answers, and is held
			b.api.UserSends(7, "hello")
			b.awaitMessage(7, "\ngot hello")
			b.api.UserSends(7, "/give")
			b.awaitMessage(7, "All is done.")
			all := strings.Join(b.texts(7), "|")
			wanttest.Equal(t, "answers", strings.Count(all, "All is done."), 1)
			wanttest.Equal(t, "reports", strings.Count(all, "restarted") > 0, d.restarts)
		})
	}
}

func TestAMessageThatWasSetAsideIsSentOnceAfterADisturbance(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	for _, d := range disturbances {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			b := startTelegramBot(t, telegramSetup{agent: `echo "{\"type\":\"message\",\"text\":\"look\",\"media\":[\"$PWD/a.png\"]}"`})
			notice := b.setPictureAside()
			b.awaitReceipts()
			d.happen(b)
			try := notice.Buttons()[0].Data
			b.api.UserPresses(7, 7, notice.ID, try)
			b.awaitMessage(7, "look")
			query := b.api.UserPresses(7, 7, notice.ID, try)
			b.api.UserSends(7, "/status") // answered after the press
			b.awaitMessage(7, "Last turns")
			answer, _ := b.api.QueryAnswer(query)
			wanttest.Equal(t, "the second press is answered", answer.Text, "That message has been sent again already, or is no longer stored.")
			pictures := slices.DeleteFunc(b.api.BotMessages(7), func(m telegramtest.Message) bool { return m.Caption != "look" || m.File() == nil })
			wanttest.Equal(t, "pictures", len(pictures), 1)
			wanttest.Equal(t, "notices", strings.Count(strings.Join(b.texts(7), "|"), "did not arrive"), 1)
		})
	}
}

// setPictureAside makes the bot answer with a picture that is stored as the outbox does after three
// minutes, and returns the message that tells about it.
func (b *telegramBot) setPictureAside() telegramtest.Message {
	b.t.Helper()
	t := b.t
	b.api.SetFault(func(c telegramtest.Call) telegramtest.Fault {
		if c.Method == "sendPhoto" {
			return telegramtest.RateLimited(1)
		}
		return telegramtest.Fault{}
	})
	b.api.UserSends(7, "hi")
	b.awaitLog("send failed, will retry")
	b.restart(syscall.SIGTERM, func() {
		b.api.SetFault(nil)
		cfg := musttest.Get(config.Load(b.cfg, environWithoutTestSettings(), extensions()))(t)
		s := musttest.Get(openStore(t.Context(), cfg, true))(t)
		chat := channels.Chat{Channel: telegram.Name, ID: "7"}
		var failed store.Delivery
		for ok := false; !ok; time.Sleep(failed.Wait) {
			var err error
			failed, ok, err = s.NextDelivery(t.Context(), chat, 0)
			musttest.Do(t, err)
		}
		musttest.Get(s.Settle(t.Context(), failed.ID, store.Settlement{State: store.Failed, Reason: "500", Resendable: true}))(t)
		ch := musttest.Get(telegram.New(telegram.Options{Token: b.api.Token, Folder: func(string) (*os.Root, error) { return nil, os.ErrInvalid }}))(t)
		parts := musttest.Get(ch.Plan(channels.Message{
			Chat: chat, Kind: channels.Answer, Text: "A message did not arrive.",
			Buttons: []channels.Button{{Label: "Try again", Data: press.Resend(failed.ID)}},
		}))(t)
		_, _, err := s.Enqueue(t.Context(), store.Outbound{About: failed.Inbound, Parts: parts})
		musttest.Do(t, err)
		musttest.Do(t, s.Close())
	})
	return b.awaitMessage(7, "did not arrive")
}
