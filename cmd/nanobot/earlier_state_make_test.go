package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/channels/web/history"
	"nanobot/config"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

var update = flag.Bool("update", false, "write the golden files again")

const (
	// earlierVersion is the schema version of the fixture's database.
	earlierVersion = 7
	// The names of the fixture's databases. They do not follow a change of the code, which could
	// not open the fixture then.
	gatewayDatabase, webDatabase = "nanobot.db", "history.db"
	// workspacePlaceholder stands in the fixture's databases for the path of the workspace.
	workspacePlaceholder = "/WORKSPACE"
	// The IDs of the updates in the journal of the webhook: of the album that is half gathered, of
	// the message after it, and of the album that was received.
	halfAlbumUpdate, afterAlbumUpdate, fullAlbumUpdate = 872_001_000, 872_001_020, 872_001_040
	// webChat is the conversation of ann.
	webChat = "web-a-known-to-nobody-else"
)

var (
	earlierState = filepath.Join("testdata", "state-v"+strconv.Itoa(earlierVersion))
	// messageOf is the ID of the message in an update of the journal.
	messageOf = func(update int) int { return update - 872_000_000 }
)

// TestStateOfAnEarlierVersionIsMade makes the fixture of
// TestStateOfAnEarlierVersionOpensAndFinishes: the workspace of a daemon that was killed in the
// midst of its work. It only does so with -update, if the folder is not there and as long as the
// code writes the fixture's schema version: what one version wrote must not be replaced by what a
// later one writes. A new schema version gets a folder of its own.
func TestStateOfAnEarlierVersionIsMade(t *testing.T) {
	if !*update {
		t.Skip("-update makes the state")
	}
	if _, err := os.Stat(earlierState); err == nil {
		t.Skipf("%s is there; it is not replaced by what this code writes", earlierState)
	}
	if v := codeVersion(t); v != earlierVersion {
		t.Fatalf("this code writes schema version %d, and %s is the state of version %d: make a new folder", v, earlierState, earlierVersion)
	}
	b := &earlierBot{dir: t.TempDir(), tg: newEarlierTelegram(t), dc: discordtest.New(t)}
	b.webBot = webBot{t: t, listen: freeAddress(t), cfg: filepath.Join(b.dir, "config.json")}
	b.workUntilKilled()
	made := b.workUntilKilledAgain()
	link := strings.TrimPrefix(b.link("--user", "ann"), "http://"+b.listen)
	b.addByHand(t)
	b.save(t, map[string]string{"made.txt": made.UTC().Format(time.RFC3339Nano), "link.txt": link})
}

// codeVersion is the schema version that the code writes.
func codeVersion(t *testing.T) int {
	t.Helper()
	dir := t.TempDir()
	s := musttest.Get(sqlite.Open(t.Context(), dir, sqlite.Options{}))(t)
	musttest.Do(t, s.Close())
	v, _ := strconv.Atoi(column(t, openDatabase(t, filepath.Join(dir, gatewayDatabase)), "PRAGMA user_version")[0])
	return v
}

// workUntilKilled makes rows in final states, with a daemon that polls Telegram and sends at most
// once.
func (b *earlierBot) workUntilKilled() {
	b.t.Helper()
	tg, t := b.tg, b.t
	b.write(earlierMode{"poll", "atMostOnce", "report"})
	b.start()
	db := openDatabase(t, filepath.Join(b.dir, "state", gatewayDatabase))
	tg.UserSends(7, "hello")
	tg.WaitForText(t, 7, "you said hello")
	tg.UserSends(7, "fail")
	b.awaitRow(db, "SELECT id FROM inbox WHERE state = 'done' AND exit_code = 3")
	tg.SetFault(func(c telegramtest.Call) telegramtest.Fault {
		switch {
		case c.Method == "sendMessage" && c.IntParam("chat_id") == 8:
			return telegramtest.ErrorResponse(http.StatusForbidden, "Forbidden: bot was blocked by the user")
		case c.Method == "sendMessage" && c.IntParam("chat_id") == 9:
			return telegramtest.Fault{CutAfter: true}
		}
		return telegramtest.Fault{}
	})
	tg.UserSends(8, "blocked")
	b.awaitRow(db, "SELECT id FROM outbox WHERE state = 'failed'")
	tg.UserSends(9, "in doubt")
	b.awaitRow(db, "SELECT id FROM outbox WHERE state = 'unknown'")
	b.cancelAndRevoke()
	tg.UserSends(20, "let me in")
	b.beside("pair", code(tg.WaitForCount(t, 20, 1)[0].TextOrCaption()))
	tg.WaitForText(t, 20, "you said let me in")
	tg.UserSends(21, "let me in later")
	tg.WaitForCount(t, 21, 1)
	b.dc.AwaitReady(t)
	b.dc.UserSends(b.dc.DM(ada).ID, ada, "hello")
	b.dc.WaitForText(t, b.dc.DM(ada).ID, "you said hello")
	b.talkOnTheWeb()
	tg.UserSends(10, "hang and be interrupted")
	tg.WaitForText(t, 10, "⏳ working")
	b.kill()
}

// code finds the pairing code in what a stranger is told.
func code(words string) string {
	_, rest, _ := strings.Cut(words, "nanobot pair ")
	return strings.Fields(rest)[0]
}

// cancelAndRevoke makes turns that were stopped, cancelled and revoked.
func (b *earlierBot) cancelAndRevoke() {
	b.t.Helper()
	tg, t := b.tg, b.t
	db := openDatabase(t, filepath.Join(b.dir, "state", gatewayDatabase))
	tg.UserSends(11, "hang until stopped")
	tg.WaitForText(t, 11, "⏳ working")
	tg.UserSends(11, "cancelled")
	queued, _ := tg.AwaitMessages(11, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		return len(all) == 2 && len(all[1].Buttons()) > 0
	})
	tg.UserPresses(11, 11, queued[1].ID, queued[1].Buttons()[0].Data)
	b.awaitRow(db, "SELECT id FROM inbox WHERE state = 'dead'")
	tg.UserSends(11, "/stop")
	tg.WaitForText(t, 11, "Stopped.")
	b.beside("pair", "telegram:40")
	tg.UserSends(40, "hang until revoked")
	tg.WaitForText(t, 40, "⏳ working")
	tg.UserSends(40, "revoked")
	b.awaitRow(db, "SELECT id FROM inbox WHERE chat = 'telegram:40' AND state = 'pending'")
	b.beside("pair", "--revoke", "telegram:40")
	b.awaitRow(db, "SELECT id FROM inbox WHERE chat = 'telegram:40' AND state <> 'dead' AND status = 'revoked' AND ended > 0")
}

// talkOnTheWeb makes a conversation with files both ways.
func (b *earlierBot) talkOnTheWeb() {
	b.t.Helper()
	ann := b.signIn("--user", "ann")
	next := ann.openEventStream()
	await := func(text string) { // a notice about the queue may come before it
		for next("message").data.Text != text {
		}
	}
	ann.sendMessage(webChat, "hello")
	await("you said hello")
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, _ := w.CreateFormFile("file", "photo.png")
	fmt.Fprint(part, string(telegramtest.PNG(10, 10)))
	w.Close()
	if status, answer := ann.request("POST", "/api/chats/"+webChat+"/messages", w.FormDataContentType(), &form); status != http.StatusAccepted {
		b.t.Fatalf("a file is answered %d %s", status, answer)
	}
	await("got 1 files")
	ann.sendMessage(webChat, "files")
	await("files")
}

// workUntilKilledAgain makes rows that are not final, with a daemon that has a webhook, and returns
// when that was killed.
func (b *earlierBot) workUntilKilledAgain() time.Time {
	b.t.Helper()
	b.tg = newEarlierTelegram(b.t) // without files, so that the album's file IDs are the first
	tg, dc, t := b.tg, b.dc, b.t
	ann := b.enterAgain()
	db := openDatabase(t, filepath.Join(b.dir, "state", gatewayDatabase))
	tg.WaitForCount(t, 10, 1) // the report of the turn that was interrupted
	tg.SetNextIDs(halfAlbumUpdate, messageOf(halfAlbumUpdate))
	tg.UserSendsAlbum(telegramtest.UserPost{Chat: 30, Text: "look"}, fullAlbum()[:2]...)
	tg.SetNextIDs(afterAlbumUpdate, messageOf(afterAlbumUpdate))
	tg.UserSends(30, "after the album")
	tg.SetNextIDs(fullAlbumUpdate, messageOf(fullAlbumUpdate))
	tg.UserSendsAlbum(telegramtest.UserPost{Chat: 31, Text: "look"}, fullAlbum()...)
	tg.WaitForText(t, 31, "got 10 files")
	forever := make(chan struct{})
	tg.SetFault(func(c telegramtest.Call) telegramtest.Fault {
		if chat := c.IntParam("chat_id"); strings.HasPrefix(c.Method, "send") && c.Method != "sendChatAction" && (chat == 15 || chat == 16) {
			return telegramtest.Fault{HangUntil: forever}
		}
		return telegramtest.Fault{}
	})
	tg.UserSends(15, "three")
	tg.UserSends(16, "files")
	tg.UserSends(12, "ask")
	tg.WaitForCount(t, 12, 1)
	tg.UserSends(13, "hang and be reported")
	tg.WaitForText(t, 13, "⏳ working")
	tg.UserSends(13, "pending one")
	tg.UserSends(13, "pending two")
	tg.UserSends(22, "let me in too")
	tg.WaitForCount(t, 22, 1)
	dc.AwaitReady(t)
	to := dc.DM(bob).ID
	dc.SetFault(func(c discordtest.Call) discordtest.Fault {
		if c.Route == discordtest.CreateMessage && c.Args["channel_id"] == to {
			return discordtest.Fault{HangUntil: forever}
		}
		return discordtest.Fault{}
	})
	dc.UserSends(to, bob, "three")
	dc.UserSends(dc.DM(ada).ID, ada, "hang on Discord")
	dc.WaitForText(t, dc.DM(ada).ID, "⏳ working")
	dc.UserSends(dc.DM(ada).ID, ada, "pending on Discord")
	ann.sendMessage(webChat, "hang on the web")
	ann.sendMessage(webChat, "pending on the web")
	for _, until := range []string{
		"SELECT count(*) FROM inbox WHERE state = 'pending' HAVING count(*) = 4",
		"SELECT count(*) FROM inbox WHERE state = 'running' HAVING count(*) = 4",
		"SELECT count(*) FROM outbox WHERE state = 'sending' HAVING count(*) = 3",
		"SELECT count(*) FROM outbox WHERE state = 'pending' HAVING count(*) = 5",
		"SELECT count(*) FROM bubble HAVING count(*) >= 2",
	} {
		b.awaitRow(db, until)
	}
	if !tg.AwaitPending(0, telegramtest.WaitLimit) {
		t.Fatalf("%d updates are left", tg.PendingUpdates())
	}
	b.kill()
	killed := time.Now()
	b.beside("pair", code(tg.BotMessages(22)[0].TextOrCaption())) // while no daemon runs, so that the next one tells user 22
	return killed
}

// enterAgain starts the second daemon and signs ann in.
func (b *earlierBot) enterAgain() *browser {
	b.t.Helper()
	b.write(earlierMode{"webhook", "atLeastOnce", "report"})
	b.start()
	return b.signIn("--user", "ann")
}

// addByHand adds what the real binary leaves only if it is killed at one instant, or with an agent
// of another protocol.
func (b *earlierBot) addByHand(t *testing.T) {
	t.Helper()
	cfg := musttest.Get(config.Load(b.cfg, environWithoutTestSettings(), extensions()))(t)
	s := musttest.Get(openStore(t.Context(), cfg, true))(t)
	for key, value := range map[string]string{"agent": "session 1", "lasting:agent": "mode ask"} {
		musttest.Do(t, s.Remember(t.Context(), channels.Chat{Channel: "telegram", ID: "7"}, key, value))
	}
	musttest.Do(t, s.Close())
	h := musttest.Get(history.Open(filepath.Join(b.dir, "state", "web"), history.Options{}))(t)
	d := history.NewEvent{Chat: webChat, Actor: history.Actor{User: "ann"}, Type: history.Message, ID: "stored-and-not-received", ForGateway: true}
	d.User, d.From, d.Text = "ann", "user", "stored and not received"
	if _, _, err := h.Append(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	musttest.Do(t, h.Close())
}

// save makes the fixture of the workspace.
func (b *earlierBot) save(t *testing.T, facts map[string]string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil { // agents that outlived the daemon end
		t.Fatal(err)
	}
	for _, path := range databases(b.dir) {
		db := openDatabase(t, path)
		replacePaths(t, db, filepath.Base(path), b.dir, workspacePlaceholder)
		for _, query := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
			execSQL(t, db, query)
		}
		musttest.Do(t, db.Close())
	}
	for _, part := range []string{"state", "users"} {
		musttest.Do(t, os.CopyFS(filepath.Join(earlierState, part), os.DirFS(filepath.Join(b.dir, part))))
	}
	// The databases are whole without their logs. The others are no state.
	for _, name := range []string{gatewayDatabase + "-wal", gatewayDatabase + "-shm", "daemon.lock", "audit.jsonl"} {
		musttest.Do(t, os.RemoveAll(filepath.Join(earlierState, "state", name)))
	}
	for name, content := range facts {
		musttest.Do(t, os.WriteFile(filepath.Join(earlierState, name), []byte(content+"\n"), 0o600))
	}
}

// kill kills the daemon with SIGKILL.
func (b *earlierBot) kill() {
	b.t.Helper()
	b.signal(syscall.SIGKILL)
	b.awaitExit()
	if !b.tg.AwaitDisconnected(telegramtest.WaitLimit) {
		b.t.Fatal("the daemon is dead and its connections are not")
	}
}

// databases are the database files in a workspace.
func databases(dir string) []string {
	return []string{filepath.Join(dir, "state", gatewayDatabase), filepath.Join(dir, "state", "web", webDatabase)}
}

// pathColumns are the tables, their keys and their columns with paths of files, by database.
var pathColumns = map[string][][3]string{
	gatewayDatabase: {
		{"inbox", "id", "incoming"}, {"outbox", "id", "outgoing"}, {"transcript", "item || '.' || n", "media"}, {"guest", "user", "message"},
	},
	webDatabase: {{"events", "seq", "body"}},
}

// replacePaths replaces a path wherever a database has it, also within what a channel has encoded
// for itself.
func replacePaths(t *testing.T, db *sql.DB, name, from, to string) {
	t.Helper()
	for _, c := range pathColumns[name] {
		for _, key := range column(t, db, fmt.Sprintf("SELECT %s FROM %s", c[1], c[0])) {
			value := column(t, db, fmt.Sprintf("SELECT %s FROM %s WHERE CAST(%s AS TEXT) = ?", c[2], c[0], c[1]), key)[0]
			replaced := any(replacePath(value, from, to))
			if name == webDatabase {
				replaced = []byte(replaced.(string)) // the column is a BLOB
			}
			execSQL(t, db, fmt.Sprintf("UPDATE %s SET %s = ? WHERE CAST(%s AS TEXT) = ?", c[0], c[2], c[1]), replaced, key)
		}
	}
}

// replacePath replaces a path in JSON, and in a field form, which is bytes.
func replacePath(value, from, to string) string {
	var fields map[string]json.RawMessage
	var form []byte
	if json.Unmarshal([]byte(value), &fields) == nil && json.Unmarshal(fields["form"], &form) == nil {
		before, _ := json.Marshal(form)
		after, _ := json.Marshal(bytes.ReplaceAll(form, []byte(from), []byte(to)))
		value = strings.Replace(value, string(before), string(after), 1)
	}
	return strings.ReplaceAll(value, from, to)
}
