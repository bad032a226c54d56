package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// timeColumns are the tables and columns with times, by database; 0 is no time.
var timeColumns = map[string]map[string][]string{
	gatewayDatabase: {
		"inbox": {"received", "started", "ended"}, "seen": {"at"}, "outbox": {"not_before", "queued", "settled"}, "transcript": {"at"},
		"guest": {"since"}, "question": {"asked", "expires", "closed"}, "refused": {"at"}, "code_made": {"at"}, "told_later": {"at"},
	},
	webDatabase: {"chats": {"updated"}, "events": {"time"}},
}

// interrupted is the report of a turn that a crash cut off, if later messages wait.
const interrupted = "I was restarted while working on this."

// TestStateOfAnEarlierVersionOpensAndFinishes opens the state of a daemon that was killed in the
// midst of its work, and sees that the work is finished: each message is run once and each part of
// an answer sent once. TestStateOfAnEarlierVersionIsMade says what is in it.
func TestStateOfAnEarlierVersionOpensAndFinishes(t *testing.T) {
	t.Parallel()
	for _, onCrash := range []string{"report", "retry"} {
		t.Run(onCrash, func(t *testing.T) {
			t.Parallel()
			b := openEarlierState(t, onCrash)
			press, code := b.questionAndCode()
			transients := b.column("SELECT chat || ' ' || id FROM bubble WHERE chat NOT LIKE 'web:%' ORDER BY chat")
			b.offerAlbums()
			b.dc.UserSends(b.dc.DM(ada).ID, ada, "said while the daemon was down")
			b.start()
			b.tg.UserPresses(12, 12, 1, press)
			ann := b.useLink()
			b.beside("pair", code)
			b.tg.UserSends(20, "still paired")
			b.tg.UserSends(7, "still allowed")
			b.tg.UserSends(40, "revoked and now a stranger")
			b.awaitAll(onCrash)
			b.awaitToast(onCrash)
			b.checkWeb(ann, onCrash)
			b.signal(syscall.SIGTERM)
			if got := b.awaitExit(); got != 0 {
				t.Errorf("status %d:\n%s", got, b.log())
			}
			b.checkNetworks(onCrash, transients)
			b.checkTurns(onCrash)
			b.checkState()
		})
	}
}

// openEarlierState copies the fixture and moves it to this place and time: paths are absolute, and
// pairing codes, links, questions and finished rows have a time after which they are worth nothing.
func openEarlierState(t *testing.T, onCrash string) *earlierBot {
	t.Helper()
	b := &earlierBot{dir: t.TempDir(), tg: newEarlierTelegram(t), dc: discordtest.New(t)}
	b.webBot = webBot{t: t, listen: freeAddress(t), cfg: filepath.Join(b.dir, "config.json")}
	musttest.Do(t, os.CopyFS(b.dir, os.DirFS(earlierState)))
	made := musttest.Get(time.Parse(time.RFC3339Nano, b.file("made.txt")))(t)
	b.makePrivate()
	age := time.Since(made)
	for _, path := range databases(b.dir) {
		name, db := filepath.Base(path), openDatabase(t, path)
		replacePaths(t, db, name, workspacePlaceholder, b.dir)
		unit := time.Microsecond
		if name == webDatabase {
			unit = time.Millisecond
		}
		for table, columns := range timeColumns[name] {
			for _, c := range columns {
				execSQL(t, db, fmt.Sprintf("UPDATE %s SET %[2]s = %[2]s + ? WHERE %[2]s > 0", table, c), int64(age/unit))
			}
		}
		if name == gatewayDatabase {
			// By this name a daemon finds the agents that it left. A test that runs at the same
			// time must not end them.
			execSQL(t, db, "UPDATE memory SET value = ? WHERE chat = ':' AND key = 'kept'", rand.Text())
		}
		musttest.Do(t, db.Close())
	}
	b.renewLinks(age)
	for _, user := range []string{ada, bob} {
		chat := b.column("SELECT DISTINCT chat FROM inbox WHERE chat LIKE 'discord:%' AND incoming ->> '$.user.id' = ?", user)[0]
		b.dc.SetDM(user, strings.TrimPrefix(chat, "discord:"))
	}
	b.write(earlierMode{"webhook", "atLeastOnce", onCrash})
	if onCrash == "retry" { // the object of each network becomes a list of accounts
		b.makeLists()
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil { // no turn hangs
		t.Fatal(err)
	}
	return b
}

// makeLists makes a list of accounts of the section of each network, with a new account before the
// one that has the state.
func (b *earlierBot) makeLists() {
	b.t.Helper()
	text := musttest.Get(os.ReadFile(b.cfg))(b.t)
	list := regexp.MustCompile(`(?s)("telegram"|"discord"): (\{.*?\})`).ReplaceAllString(string(text), `$1: [{"name": "new"}, $2]`)
	musttest.Do(b.t, os.WriteFile(b.cfg, []byte(list), 0o600))
}

func (b *earlierBot) file(name string) string {
	b.t.Helper()
	content := musttest.Get(os.ReadFile(filepath.Join(b.dir, name)))(b.t)
	return strings.TrimSpace(string(content))
}

// makePrivate gives the files the modes that the daemon made them with, which a checkout does not
// have.
func (b *earlierBot) makePrivate() {
	b.t.Helper()
	musttest.Do(b.t, filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		if err == nil {
			err = os.Chmod(path, 0o600)
		}
		return err
	}))
}

// renewLinks moves the times of links.
func (b *earlierBot) renewLinks(age time.Duration) {
	b.t.Helper()
	links, _ := filepath.Glob(filepath.Join(b.dir, "state", "links", "*"))
	for _, path := range links {
		var link map[string]any
		content, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(content, &link)
		}
		if err != nil {
			b.t.Fatal(err)
		}
		expires := musttest.Get(time.Parse(time.RFC3339Nano, link["expires"].(string)))(b.t)
		link["expires"] = expires.Add(age)
		content, _ = json.Marshal(link)
		musttest.Do(b.t, os.WriteFile(path, content, 0o600))
	}
}

// column asks the gateway's database while no daemon runs.
func (b *earlierBot) column(query string, args ...any) []string {
	b.t.Helper()
	db := openDatabase(b.t, filepath.Join(b.dir, "state", gatewayDatabase))
	defer db.Close()
	return column(b.t, db, query, args...)
}

// questionAndCode returns what the second button of the open question carries, and the pairing code
// that user 21 has.
func (b *earlierBot) questionAndCode() (press, code string) {
	b.t.Helper()
	return "answer:" + b.column("SELECT id FROM question WHERE closed = 0")[0] + ":2", b.column("SELECT code FROM guest WHERE user = '21'")[0]
}

// offerAlbums makes Telegram deliver the albums of the fixture again, under the same IDs: of the
// one that is half gathered also the parts that were not delivered yet, of the other one all parts
// that were received.
func (b *earlierBot) offerAlbums() {
	b.tg.SetNextIDs(halfAlbumUpdate, messageOf(halfAlbumUpdate))
	b.tg.UserSendsAlbum(telegramtest.UserPost{Chat: 30, Text: "look"}, fullAlbum()...)
	b.tg.SetNextIDs(fullAlbumUpdate, messageOf(fullAlbumUpdate))
	b.tg.UserSendsAlbum(telegramtest.UserPost{Chat: 31, Text: "look"}, fullAlbum()...)
	b.tg.SetNextIDs(872_002_000, 2000)
}

// useLink signs ann in with the link that the fixture has.
func (b *earlierBot) useLink() *browser {
	b.t.Helper()
	jar, _ := cookiejar.New(nil)
	ann := &browser{&b.webBot, http.Client{Jar: jar, Transport: &http.Transport{}}}
	b.t.Cleanup(ann.CloseIdleConnections)
	if status, body := ann.request("POST", b.file("link.txt"), "", nil); status != http.StatusOK {
		b.t.Fatalf("the link is answered %d %.200s", status, body)
	}
	return ann
}

// awaitToast waits for what the person sees who has pressed a button of the question.
func (b *earlierBot) awaitToast(onCrash string) {
	b.t.Helper()
	want := "This question is no longer open."
	if onCrash == "retry" {
		want = ""
	}
	if all, ok := b.tg.AwaitCalls("answerCallbackQuery", telegramtest.WaitLimit, func(all []telegramtest.Call) bool {
		return len(all) == 1 && all[0].Params["text"] == want
	}); !ok {
		b.t.Errorf("the press was answered by %+v", all)
	}
}

// afterCrash is what becomes of a turn that hung when the daemon was killed.
func afterCrash(onCrash, text string) string {
	if onCrash == "retry" {
		return text + " finished"
	}
	return interrupted
}

// telegramShows is what each Telegram chat is to show. All others show nothing.
func telegramShows(onCrash string) map[int64][]string {
	question := []string{interrupted + " /retry runs it again."}
	if onCrash == "retry" {
		question = []string{"you chose Blue"}
	}
	return map[int64][]string{
		7:  {"you said still allowed"},
		12: question,
		13: {afterCrash(onCrash, "hang and be reported"), "you said pending one", "you said pending two"},
		15: {"↻ one", "two", "three"},
		16: {"↻ files", ""}, // a photo with a caption, and a document
		20: {"you said still paired"},
		21: {"You have access now.", "you said let me in later"},
		22: {"You have access now.", "you said let me in too"},
		30: {"got 10 files", "you said after the album"},
		40: {"a pairing code"},
	}
}

// discordShows is what the conversations of a person show.
func discordShows(onCrash string) map[string][]string {
	return map[string][]string{
		ada: {afterCrash(onCrash, "hang on Discord"), "you said pending on Discord", "you said said while the daemon was down"},
		bob: {"one", "two", "three"},
	}
}

// queuedNotice begins what a person is told whose message waits for a turn. Whether it has to wait
// depends on time.
const queuedNotice = "Queued"

// telegramTexts are the texts of messages, without notices about the queue and without pairing
// codes.
func telegramTexts(all []telegramtest.Message) (texts []string) {
	for _, m := range all {
		text := m.TextOrCaption()
		if strings.Contains(text, "nanobot pair ") {
			text = "a pairing code"
		}
		if !strings.HasPrefix(text, queuedNotice) {
			texts = append(texts, text)
		}
	}
	return texts
}

// discordTexts are the texts of messages, without notices about the queue.
func discordTexts(all []discordtest.Message) (texts []string) {
	for _, m := range all {
		if !strings.HasPrefix(m.Content, queuedNotice) {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

// awaitAll waits until Telegram and Discord show as many messages as they are to show.
func (b *earlierBot) awaitAll(onCrash string) {
	b.t.Helper()
	for chat, want := range telegramShows(onCrash) {
		if shown, ok := b.tg.AwaitMessages(chat, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
			return len(telegramTexts(all)) >= len(want)
		}); !ok {
			b.t.Errorf("Telegram chat %d shows only %q", chat, telegramTexts(shown))
		}
	}
	for user, want := range discordShows(onCrash) {
		if shown, ok := b.dc.AwaitMessages(b.dc.DM(user).ID, waitTimeout, func(all []discordtest.Message) bool {
			return len(discordTexts(all)) >= len(want)
		}); !ok {
			b.t.Errorf("Discord shows %s only %q", user, discordTexts(shown))
		}
	}
	if !b.tg.AwaitPending(0, telegramtest.WaitLimit) {
		b.t.Errorf("%d updates are left", b.tg.PendingUpdates())
	}
}

// webMessage is a message in the answer of the web channel.
type webMessage struct {
	From, Text string
	Media      []struct{ ID, Name string }
}

// checkWeb waits until the chat page shows what it is to show, and reads a file of its history.
func (b *earlierBot) checkWeb(ann *browser, onCrash string) {
	b.t.Helper()
	quote := map[string]string{"report": "> hang on the web\n\n"}[onCrash]
	want := []string{
		"user: hello", "bot: you said hello", "user: ", "bot: got 1 files", "user: files", "bot: files", "user: hang on the web",
		"user: pending on the web", "user: stored and not received",
		"bot: " + quote + afterCrash(onCrash, "hang on the web"), "bot: you said pending on the web", "bot: you said stored and not received",
	}
	var page struct{ Messages []webMessage }
	var got []string
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		status, body := ann.request("GET", "/api/chats/"+webChat+"/messages", "", nil)
		if status != http.StatusOK {
			b.t.Fatalf("the history is answered %d %s", status, body)
		}
		page.Messages, got = nil, nil
		musttest.Do(b.t, json.Unmarshal([]byte(body), &page))
		for _, m := range page.Messages {
			if m.From != "bot" || !strings.HasPrefix(m.Text, queuedNotice) {
				got = append(got, m.From+": "+m.Text)
			}
		}
		if slices.Contains(got, want[len(want)-1]) {
			break
		}
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("the chat page shows\n%q and should show\n%q", got, want)
		return
	}
	if files := page.Messages[5].Media; len(files) != 2 || files[1].Name != "notes.txt" {
		b.t.Errorf("the files are %+v", files)
	} else if status, body := ann.request("GET", "/api/media/"+files[1].ID, "", nil); status != http.StatusOK || body != "some notes\n" {
		b.t.Errorf("a file is answered %d %q", status, body)
	}
}

// checkNetworks compares all that Telegram and Discord show, and sees that progress messages were
// removed.
func (b *earlierBot) checkNetworks(onCrash string, transients []string) {
	b.t.Helper()
	want := telegramShows(onCrash)
	for chat := range int64(41) {
		got := telegramTexts(b.tg.BotMessages(chat))
		if chat > 0 && !slices.Equal(got, want[chat]) {
			b.t.Errorf("Telegram chat %d shows %q and should show %q", chat, got, want[chat])
		}
	}
	for user, want := range discordShows(onCrash) {
		got := discordTexts(b.dc.BotMessages(b.dc.DM(user).ID))
		if !slices.Equal(got, want) {
			b.t.Errorf("Discord shows %s %q and should show %q", user, got, want)
		}
	}
	var removed []string
	for _, c := range b.dc.Calls(discordtest.DeleteMessage) {
		removed = append(removed, "discord:"+c.Args["channel_id"]+" "+c.Args["message_id"])
	}
	for _, c := range b.tg.Calls("deleteMessage") {
		removed = append(removed, "telegram:"+strconv.FormatInt(c.IntParam("chat_id"), 10)+" "+c.Params["message_id"])
	}
	for _, transient := range transients {
		if !slices.Contains(removed, transient) {
			b.t.Errorf("the progress message %s was not removed, only %q", transient, removed)
		}
	}
	if len(transients) != 2 {
		b.t.Errorf("the fixture has the progress messages %q", transients)
	}
}

// checkTurns compares the turns of each chat, in order.
func (b *earlierBot) checkTurns(onCrash string) {
	b.t.Helper()
	d := b.dc.DM(ada).ID
	want := map[string][]string{
		"7": {"still allowed (0 files)"}, "20": {"still paired (0 files)"}, "21": {"let me in later (0 files)"}, "22": {"let me in too (0 files)"},
		"30": {"look (10 files)", "after the album (0 files)"}, "13": {"pending one (0 files)", "pending two (0 files)"},
		d:       {"pending on Discord (0 files)", "said while the daemon was down (0 files)"},
		webChat: {"pending on the web (0 files)", "stored and not received (0 files)"},
	}
	if onCrash == "retry" {
		want["12"] = []string{"ask (0 files)"}
		for chat, text := range map[string]string{"13": "hang and be reported", d: "hang on Discord", webChat: "hang on the web"} {
			want[chat] = append([]string{text + " (0 files)"}, want[chat]...)
		}
	}
	got := map[string][]string{}
	for line := range strings.Lines(b.file("ran.log") + "\n") {
		chat, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		got[chat] = append(got[chat], text)
	}
	for chat, turns := range want {
		if !slices.Equal(got[chat], turns) {
			b.t.Errorf("the turns of chat %s are %q and should be %q", chat, got[chat], turns)
		}
		delete(got, chat)
	}
	if len(got) > 0 {
		b.t.Errorf("there are turns in other chats: %q", got)
	}
}

// checkState sees that nothing is left to do, and that nothing else was lost.
func (b *earlierBot) checkState() {
	b.t.Helper()
	for query, want := range map[string][]string{
		"SELECT id || state FROM inbox WHERE state NOT IN ('done', 'dead', 'interrupted') OR ended = 0": nil,
		"SELECT chat || state FROM outbox WHERE state <> 'sent' ORDER BY id":                            {"telegram:8failed", "telegram:9unknown"},
		"SELECT id FROM question WHERE closed = 0":                                                      nil,
		"SELECT id FROM transient":                                                                      nil,
		"SELECT chat FROM line":                                                                         nil,
		"SELECT folder FROM spooled":                                                                    nil,
		"SELECT user FROM pairing WHERE welcome > 0":                                                    nil,
		"SELECT user || (code = '') FROM pairing ORDER BY user":                                         {"201", "211", "221", "400"},
		"SELECT key || '=' || value FROM memory WHERE chat = 'telegram:7' ORDER BY key":                 {"agent=session 1", "lasting:agent=mode ask"},
		"SELECT channel FROM cursor ORDER BY channel":                                                   {"discord", "telegram"},
		"SELECT state || status FROM inbox WHERE chat IN ('telegram:40', 'telegram:11', 'telegram:10') AND attempt > 0 ORDER BY id": {
			"donestopped", "donerevoked", "interruptedstopped",
		},
		"SELECT state || status FROM inbox WHERE state = 'dead' ORDER BY id": {"dead", "deadrevoked"},
	} {
		if got := b.column(query); !slices.Equal(got, want) {
			b.t.Errorf("%s is %q and should be %q", query, got, want)
		}
	}
	db := openDatabase(b.t, databases(b.dir)[1])
	defer db.Close()
	if waiting := column(b.t, db, "SELECT id FROM events WHERE taken = 0"); len(waiting) > 0 {
		b.t.Errorf("the web channel has not handed on %q", waiting)
	}
	for _, pattern := range []string{"spool/*", "telegram-updates/*.open", "telegram-updates/*.sealed", "links/*", "sessions/*", "http.*"} {
		if left, _ := filepath.Glob(filepath.Join(b.dir, "state", pattern)); len(left) > 0 {
			b.t.Errorf("there is still %q", left)
		}
	}
}
