package history_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"nanobot/channels/web/history"
	"nanobot/internal/dbfile"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

var ann, bob = history.Actor{User: "ann"}, history.Actor{User: "bob"}

// said is a message of a person in their own chat.
func said(p history.Actor, chat, id, text string, names ...string) history.NewEvent {
	d := history.NewEvent{Chat: chat, Actor: p, Type: history.Message, ID: id, ForGateway: true, Body: history.Body{From: "user", User: p.User, Text: text}}
	for _, name := range names {
		d.Media = append(d.Media, history.Media{ID: id + name, Name: name})
	}
	return d
}

// listed returns the titles of the chats in their order, those of pinned ones with a mark.
func listed(t *testing.T, h *history.History, p history.Actor) string {
	t.Helper()
	var titles []string
	for _, c := range musttest.Get(h.Chats(t.Context(), p, 100))(t) {
		titles = append(titles, c.Title+map[bool]string{true: "*"}[c.Pinned])
	}
	return strings.Join(titles, ", ")
}

func TestANameAndAPinSurviveMessagesPruningAndARestart(t *testing.T) {
	onBoth(t, testANameAndAPinSurviveMessagesPruningAndARestart)
}

func testANameAndAPinSurviveMessagesPruningAndARestart(t *testing.T, openHistory opener) {
	dir, now := t.TempDir(), time.Unix(1_000_000, 0)
	var published []history.Event
	o := history.Options{Now: func() time.Time { return now }, OnEvent: func(e history.Event) { published = append(published, e) }}
	h := openHistory(t, dir, o)
	mustAppend(t, h, said(ann, "a", "1", "my first words"))
	now = now.Add(time.Second)
	mustAppend(t, h, said(ann, "b", "2", "newer words"))
	wanttest.Equal(t, "chats", listed(t, h, ann), "newer words, my first words")

	name, pinned, other := "  The \n plan ", true, "mine now"
	c := musttest.Get(h.UpdateChat(t.Context(), ann, "a", history.ChatUpdate{Title: &name, Pinned: &pinned}))(t)
	wanttest.Equal(t, "the answer", fmt.Sprintf("%s %s %t", c.ID, c.Title, c.Pinned), "a The plan true")
	last := published[len(published)-1]
	wanttest.Equal(t, "published", fmt.Sprintf("%s %s %s %t", last.Type, last.Owner, last.ChatTitle, last.Pinned), "changed ann The plan true")
	events := musttest.Get(h.Events(t.Context(), last.Seq-1, 1<<62, ann, 10))(t)
	wanttest.Equal(t, "read later", fmt.Sprintf("%s %t", events[0].ChatTitle, events[0].Pinned), "The plan true")
	musttest.Get(h.UpdateChat(t.Context(), ann, "a", history.ChatUpdate{Pinned: &pinned}))(t)
	wanttest.Equal(t, "the last event of no change", published[len(published)-1].Seq, last.Seq)
	wanttest.Equal(t, "chats", listed(t, h, ann), "The plan*, newer words")
	for _, chat := range []string{"a", "none"} {
		if _, err := h.UpdateChat(t.Context(), bob, chat, history.ChatUpdate{Title: &other}); !errors.Is(err, history.ErrNotOwner) {
			t.Errorf("bob renames %s: %v", chat, err)
		}
	}

	musttest.Do(t, h.MarkReceived(t.Context(), []int64{1, 2}))
	musttest.Do(t, h.Prune(t.Context(), now.Add(time.Hour)))
	wanttest.Equal(t, "chats when all is old", listed(t, h, ann), "")
	musttest.Do(t, h.Close())
	h = openHistory(t, dir, o)
	mustAppend(t, h, said(ann, "a", "3", "other words"))
	wanttest.Equal(t, "chats after a restart", listed(t, h, operator), "The plan*")
	none := ""
	musttest.Get(h.UpdateChat(t.Context(), operator, "a", history.ChatUpdate{Title: &none}))(t)
	wanttest.Equal(t, "without a name", listed(t, h, ann), "other words*")
}

func TestADeletedChatIsGoneAtOnceAndForGood(t *testing.T) {
	onBoth(t, testADeletedChatIsGoneAtOnceAndForGood)
}

func testADeletedChatIsGoneAtOnceAndForGood(t *testing.T, openHistory opener) {
	dir := t.TempDir()
	var published []history.Event
	o := history.Options{OnEvent: func(e history.Event) { published = append(published, e) }}
	h := openHistory(t, dir, o)
	id, file, err := h.CreateFile()
	musttest.Do(t, errors.Join(err, file.Close()))
	const count = 450 // more than are removed at once
	for i := range count {
		d := newMessage("gone", fmt.Sprint(i))
		d.Text, d.Actor = "swordfish", ann
		if i == 0 {
			d.Media = []history.Media{{ID: id, Name: "a.txt"}, {ID: "UPLOAD", Name: "b.txt", Path: "/x/b.txt", SHA256: "00"}}
		}
		mustAppend(t, h, d)
	}
	mustAppend(t, h, said(ann, "gone", "waiting", "swordfish"))
	mustAppend(t, h, said(ann, "stays", "s", "stays"))
	reserved := musttest.Get(h.Reserve(t.Context(), "gone", "r"))(t)

	deletion := history.Body{User: "ann", Press: "deletion"}
	for _, chat := range []string{"gone", "none"} {
		if err := h.DeleteChat(t.Context(), chat, bob, deletion); !errors.Is(err, history.ErrNotOwner) {
			t.Errorf("bob deletes %s: %v", chat, err)
		}
	}
	musttest.Do(t, h.DeleteChat(t.Context(), "gone", ann, deletion))
	last := published[len(published)-1]
	wanttest.Equal(t, "published", strings.Join([]string{last.Type, last.Chat, last.Owner}, " "), "deleted gone ann")
	musttest.Do(t, h.DeleteChat(t.Context(), "gone", ann, history.Body{Press: "again"}))
	wanttest.Equal(t, "published after a repetition", published[len(published)-1].Seq, last.Seq)

	checkGone := func(h *history.History) {
		t.Helper()
		ctx := t.Context()
		wanttest.Equal(t, "chats", listed(t, h, operator), "stays")
		var waiting []string
		for _, e := range musttest.Get(h.Waiting(ctx, 0, 100))(t) {
			waiting = append(waiting, e.Type+" "+e.ID)
		}
		wanttest.Equal(t, "waiting", fmt.Sprint(waiting), "[message s deleted deletion]")
		wanttest.EqualSlices(t, "events", eventIDs(t, h), []string{"s", "deletion"})
		if ok, err := h.CanUse(ctx, ann, "gone", true); ok || !errors.Is(err, history.ErrDeleted) {
			t.Errorf("ann may use it: %v, %v", ok, err)
		}
		if ok, err := h.CanUse(ctx, bob, "gone", true); ok || err != nil {
			t.Errorf("bob may use it: %v, %v", ok, err)
		}
		if _, _, err := h.FindMedia(ctx, ann, id); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a file is found: %v", err)
		}
		if found, _, err := h.Search(ctx, operator, []string{"swordfish"}, 10); len(found) > 0 || err != nil {
			t.Errorf("found is %v, %v", found, err)
		}
		late := newMessage("gone", "late")
		if _, _, err := h.Append(ctx, late); !errors.Is(err, history.ErrDeleted) {
			t.Errorf("a late answer: %v", err)
		}
		if err := h.Insert(ctx, reserved, late); !errors.Is(err, history.ErrDeleted) {
			t.Errorf("late progress: %v", err)
		}
		if _, err := h.Reserve(ctx, "gone", "r2"); !errors.Is(err, history.ErrDeleted) {
			t.Errorf("further progress: %v", err)
		}
		if _, _, err := h.Append(ctx, said(bob, "gone", "late", "mine")); !errors.Is(err, history.ErrNotOwner) {
			t.Errorf("a message of bob: %v", err)
		}
		if err := h.CloseQuestion(ctx, "gone", "0", "late"); !errors.Is(err, history.ErrNoMessage) {
			t.Errorf("a question: %v", err)
		}
	}
	checkGone(h)
	var discarded []string
	ctx, crash := context.WithCancel(t.Context())
	err = h.Purge(ctx, func(_ string, media []history.Media) {
		for _, m := range media {
			discarded = append(discarded, m.Name)
		}
		crash()
	})
	if err == nil {
		t.Error("nothing has interrupted the removal")
	}
	musttest.Do(t, h.Close())
	h = openHistory(t, dir, o)
	checkGone(h)
	musttest.Do(t, h.Purge(t.Context(), func(_ string, media []history.Media) {
		for _, m := range media {
			discarded = append(discarded, m.Name)
		}
	}))
	checkGone(h)
	if !slices.Contains(discarded, "b.txt") {
		t.Errorf("discarded are %q", discarded)
	}
	if _, err := h.OpenFile(id); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
	musttest.Do(t, h.Purge(t.Context(), func(string, []history.Media) { t.Error("it was not finished") }))
	musttest.Do(t, h.Close())
	for _, name := range []string{history.Database, history.Database + dbfile.LogSuffix} {
		if b, _ := os.ReadFile(filepath.Join(dir, name)); bytes.Contains(b, []byte("swordfish")) {
			t.Errorf("%s still has a text", name)
		}
	}
}

func TestADeletionDuringABackupIsFinishedByTheRestoredState(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	h := openHistory(t, dir, history.Options{})
	for _, chat := range []string{"gone", "stays"} {
		mustAppend(t, h, said(ann, chat, "in "+chat, "text"))
	}
	if _, err := history.Snapshot(t.Context(), dir, to, func() (func(string) bool, error) {
		musttest.Do(t, h.DeleteChat(t.Context(), "gone", ann, history.Body{Press: "deletion"}))
		musttest.Do(t, h.MarkReceived(t.Context(), []int64{1, 2, 3})) // by the gateway's store, not by its copy
		return func(string) bool { return false }, nil
	}); err != nil {
		t.Fatal(err)
	}
	restored := openHistory(t, to, history.Options{})
	var waiting []string
	for _, e := range musttest.Get(restored.Waiting(t.Context(), 0, 100))(t) {
		waiting = append(waiting, e.ID)
	}
	wanttest.EqualSlices(t, "offered again", waiting, []string{"in stays", "deletion"})
	wanttest.Equal(t, "chats", listed(t, restored, ann), "text")
	musttest.Do(t, restored.Purge(t.Context(), func(string, []history.Media) {}))
	wanttest.EqualSlices(t, "events", eventIDs(t, restored), []string{"in stays", "deletion"})
}

func TestASearchFindsAllWordsInAnyOrderAndCaseInOnesOwnChats(t *testing.T) {
	onBoth(t, testASearchFindsAllWordsInAnyOrderAndCaseInOnesOwnChats)
}

func testASearchFindsAllWordsInAnyOrderAndCaseInOnesOwnChats(t *testing.T, openHistory opener) {
	now := time.Unix(1_000_000, 0)
	h := openHistory(t, t.TempDir(), history.Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	for i, text := range []string{
		"Größe und Änderung", "the QUICK\nbrown fox", `a "quoted" <tag> & 100%_sure\`, "ПРИВЕТ мир", "İstanbul 300\u212a", "日本語の文", "a\u2028b",
	} {
		mustAppend(t, h, said(ann, "a", fmt.Sprint(i), text))
	}
	mustAppend(t, h, said(ann, "a", "file", "look", "Report final.pdf"))
	mustAppend(t, h, said(bob, "b", "b", "the quick one of bob"))
	mustAppend(t, h, said(ann, "c", "c", strings.Repeat("filler ", 100)+"the needle "+strings.Repeat("filler ", 100)))
	secret := said(ann, "c", "secret", "hunter2 is it")
	mustAppend(t, h, secret)
	musttest.Do(t, h.RemoveContent(t.Context(), "c", "secret"))
	name := "Quick notes"
	musttest.Get(h.UpdateChat(t.Context(), ann, "c", history.ChatUpdate{Title: &name}))(t)

	search := func(p history.Actor, query string) string {
		t.Helper()
		found, more, err := h.Search(t.Context(), p, history.SearchWords(query), 10)
		if more || err != nil {
			t.Errorf("%q: %v, %v", query, more, err)
		}
		var ids []string
		for _, f := range found {
			ids = append(ids, f.Chat+f.Message)
		}
		return strings.Join(ids, " ")
	}
	for query, want := range map[string]string{
		"GRÖSSE": "", "größe": "a a0", "ÄNDERUNG gröss": "", "änderung GRÖ": "a a0", "fox quick": "a1", "quick": "c a1", `"QUOTED" <Tag>`: "a2",
		"100%_sure\\": "a2", "100x_sure": "", "&": "a2", "Привет МИР": "a3", "istanbul": "a4", "300k": "a4", "本語": "a5", "pdf report": "afile",
		"hunter2": "", "text": "", "needle": "cc", "from": "", "   ": "", "b": "a1 a6", "%": "a2", "_": "a2",
	} {
		got := search(ann, query)
		if query == "b" { // also in others
			continue
		}
		wanttest.Equal(t, query, got, want)
	}
	wanttest.Equal(t, "bob's", search(bob, "quick"), "b bb")
	wanttest.Equal(t, "all", search(operator, "quick"), "c b bb a1")
	wanttest.Equal(t, "nobody's", search(history.Actor{User: "eve"}, "quick"), "")
	found, more, err := h.Search(t.Context(), ann, history.SearchWords("the needle"), 1)
	if err != nil || more || len(found) != 1 {
		t.Fatalf("found is %v, %v, %v", found, more, err)
	}
	if e := found[0].Excerpt; !strings.HasPrefix(e, "…") || !strings.HasSuffix(e, "…") || !strings.Contains(e, "the needle") || len(e) > 200 {
		t.Errorf("the excerpt is %q", e)
	}
	wanttest.Equal(t, "its chat", found[0].Title, "Quick notes")
	if found, more, err = h.Search(t.Context(), ann, []string{"e"}, 2); len(found) != 2 || !more || err != nil {
		t.Errorf("a bounded search finds %v, %v, %v", found, more, err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if found, more, err = h.Search(late, ann, []string{"quick"}, 2); len(found) != 0 || !more || err != nil {
		t.Errorf("a search without time finds %v, %v, %v", found, more, err)
	}
}

func TestTheFirstSchemaIsUpgraded(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		dir := t.TempDir()
		script := musttest.Get(os.ReadFile("testdata/schema-1.sql"))(t)
		musttest.Do(t, dbfile.Create(t.Context(), filepath.Join(dir, history.Database), string(script), firstRows, "PRAGMA user_version = 1"))
		checkUpgraded(t, openHistory(t, dir, history.Options{}))
		fresh := t.TempDir()
		musttest.Do(t, openHistory(t, fresh, history.Options{}).Close())
		wanttest.Equal(t, "columns", columnsOf(t, dir), columnsOf(t, fresh))
	})
	t.Run("server", func(t *testing.T) {
		c, dir := postgrestest.Schema(t), t.TempDir()
		musttest.Do(t, openMember(t, dir, c).Close())
		const columns = "SELECT string_agg(column_name || data_type || coalesce(column_default, '') || is_nullable || coalesce(collation_name, ''), ' ' " +
			"ORDER BY column_name) FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = 'web_chats'"
		want := queryServer(t, c, columns)
		postgrestest.Exec(t, c, "ALTER TABLE web_chats DROP COLUMN name, DROP COLUMN pinned, DROP COLUMN deleted;"+
			"DROP TABLE web_people, web_push_keys, web_push_subscriptions; COMMENT ON TABLE web_events IS '1';"+
			strings.NewReplacer("INTO chats", "INTO web_chats", "INTO events", "INTO web_events", "x'", `'\x`).Replace(firstRows))
		checkUpgraded(t, openMember(t, dir, c).History)
		wanttest.Equal(t, "columns", queryServer(t, c, columns), want)
	})
}

// firstRows are a chat with a message, in the first schema. The body is {"from":"bot","text":"hi"}.
const firstRows = `INSERT INTO chats (id, owner, title, updated) VALUES ('a', 'ann', 'old title', 5);
	INSERT INTO events (chat, type, id, time, taken, body) VALUES ('a', 'message', '1', 5, 1, x'7b2266726f6d223a22626f74222c2274657874223a226869227d');`

func checkUpgraded(t *testing.T, h *history.History) {
	t.Helper()
	wanttest.Equal(t, "chats", listed(t, h, ann), "old title")
	messages, _, err := h.Messages(t.Context(), "a", 0, 10)
	if err != nil || len(messages) != 1 || messages[0].Text != "hi" {
		t.Errorf("messages are %v, %v", messages, err)
	}
	name := "new"
	musttest.Get(h.UpdateChat(t.Context(), ann, "a", history.ChatUpdate{Title: &name}))(t)
	wanttest.Equal(t, "chats", listed(t, h, ann), "new")
	musttest.Do(t, h.DeleteChat(t.Context(), "a", ann, history.Body{Press: "d"}))
	musttest.Do(t, h.Subscribe(t.Context(), history.Subscription{Endpoint: "e", Owner: "ann"}))
	wanttest.Equal(t, "subscriptions", endpoints(t, h, "ann"), "e")
	musttest.Do(t, h.Close())
}

func columnsOf(t *testing.T, dir string) (all string) {
	t.Helper()
	c := musttest.Get(dbfile.Connector(filepath.Join(dir, history.Database), nil))(t)
	db := sql.OpenDB(c)
	defer db.Close()
	musttest.Do(t, db.QueryRowContext(t.Context(), `SELECT group_concat(name || type || "notnull" || coalesce(dflt_value, ''), ' ')
		FROM pragma_table_info('chats')`).Scan(&all))
	return all
}

func queryServer(t *testing.T, c *pgx.ConnConfig, query string) (value string) {
	t.Helper()
	conn := musttest.Get(pgx.ConnectConfig(t.Context(), c))(t)
	defer conn.Close(t.Context())
	musttest.Do(t, conn.QueryRow(t.Context(), query).Scan(&value))
	return value
}
