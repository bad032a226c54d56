package gateway_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/downloads"
	"nanobot/channels/web"
	"nanobot/channels/web/history"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/audit"
	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/storetest"
	"nanobot/internal/httpd"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

const (
	day = 24 * time.Hour
	// auditSize and auditFiles are the limits of the audit log.
	auditSize, auditFiles = 4 << 10, 2
	// chatSize is about how many bytes the owner of a chat takes in the history.
	chatSize = 150
)

// owners is the only table that grows as long as new people come: the owner of a chat stays, so
// that its folder becomes nobody else's.
const owners = "history.db chats"

const auditBytes = "audit.jsonl bytes"

// TestTwoYearsOfUseStayBounded has people come, write for a while and never again, at a constant
// rate for two years, and prunes as the daemon does. After the longest retention nothing grows any
// more. There are 10,000 people with NANOBOT_LONG=1.
func TestTwoYearsOfUseStayBounded(t *testing.T) {
	onlySQLite(t, "the tables are read from the files of SQLite; storetest has the rules for both engines")
	people, step := 52, 28*day
	if killtest.IsLong() {
		people, step = 10_000, 5*day
	}
	steps := int(730 * day / step)
	full := int(520*day/step) + 1 // after 400 days of usage and of chats, and 30 days to look for both
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(began)) // the clock of files is not virtual
		u := newLongUse(t)
		defer u.close()
		var before map[string]int64
		for n := range steps {
			time.Sleep(step)
			u.prune()
			first := func(group int) int { return max(group, 0) * people / steps }
			u.write(n, first(n-2), first(n), first(n+1)) // a person writes in three steps
			if n == full {
				before = u.measure()
			}
		}
		after := u.measure()
		storetest.CheckBounded(t, before, after, owners, auditBytes)
		if n := after[auditBytes]; n > (auditFiles+1)*auditSize {
			t.Errorf("the audit log has %d bytes", n)
		}
		used := []string{"nanobot.db record", "history.db events", "history.db media", auditBytes, "spool files", "users files"}
		for _, table := range storetest.UsedTables {
			used = append(used, "nanobot.db "+table)
		}
		for _, name := range used {
			if before[name] == 0 {
				t.Errorf("the use writes nothing into %s", name)
			}
		}
	})
}

func TestAReloadChangesWhatIsKept(t *testing.T) {
	onlySQLite(t, "the tables are read from the files of SQLite")
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(began))
		u := newLongUse(t)
		defer u.close()
		u.write(0, 0, 0, 1)
		time.Sleep(10 * day)
		stored := func() string {
			u.prune()
			sizes := u.measure()
			return fmt.Sprint(sizes["nanobot.db inbox"], sizes["nanobot.db usage"], sizes["history.db events"], sizes["nanobot.db record"])
		}
		wanttest.Equal(t, "messages, usage, events of the page and records by default", stored(), "2 1 2 11")
		u.keep = config.Keep{Messages: 5, Usage: 5, History: 5, Runs: 5}
		u.gateway.Reload(gateway.Settings{Keep: u.keep})
		wanttest.Equal(t, "the same after a reload", stored(), "0 0 0 5")
	})
}

// longUse is a daemon's state, its page and its audit log.
type longUse struct {
	t       *testing.T
	dir     string
	store   store.Store
	page    *web.Channel
	handler http.Handler
	gateway *gateway.Gateway
	keep    config.Keep
	audit   *audit.Log
	book    runbook.Runbook
}

func newLongUse(t *testing.T) *longUse {
	u := &longUse{t: t, dir: t.TempDir(), keep: config.Default().Gateway.Keep}
	u.keep.Runs = 100
	u.open()
	return u
}

func (u *longUse) open() {
	u.store = musttest.Get(openState(u.t.Context(), filepath.Join(u.dir, "state")))(u.t)
	folders := channelstest.ChatFolders(filepath.Join(u.dir, "users"))
	u.page = musttest.Get(web.New(web.Options{
		State: filepath.Join(u.dir, "state", "web"), MaxUpload: 1 << 20, Folder: folders,
		Requester: func(r *http.Request) (string, bool) { return r.Header.Get("X-User"), false },
	}))(u.t)
	_, u.handler = u.page.Mount()
	u.gateway = gateway.New(gateway.Options{
		Channels: map[string]channels.Channel{"web": u.page}, Store: u.store, Log: zap.NewExample(zap.IncreaseLevel(zap.WarnLevel)),
		Settings: gateway.Settings{Keep: u.keep, Files: gateway.Files{Keep: 100 * day}},
		PruneFiles: func(ctx context.Context, before time.Time) (int, error) {
			return downloads.Prune(ctx, folders, u.store, before)
		},
	})
	u.audit = musttest.Get(audit.Open(audit.Options{Path: filepath.Join(u.dir, "audit.jsonl"), MaxSize: auditSize, Keep: auditFiles}))(u.t)
	u.book, _, _ = runbook.Parse("# One\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"true\"}}}\n```\n")
}

func (u *longUse) close() {
	if u.store != nil {
		u.audit.Close()
		musttest.Do(u.t, errors.Join(u.page.Close(), u.store.Close()))
		u.store = nil
	}
}

// prune does what the daemon does every hour.
func (u *longUse) prune() {
	u.gateway.PruneFiles(u.t.Context())
	u.gateway.PruneState(u.t.Context())
	musttest.Do(u.t, u.store.PruneCodes(u.t.Context(), time.Hour))
}

// write has the people from first to end write a message to the network, and those from fresh on,
// who are new, also one on the page.
func (u *longUse) write(step, first, fresh, end int) {
	var received atomic.Int32
	stop := channelstest.Start(u.t, u.page, func(ctx context.Context, in channels.Incoming) error {
		received.Add(1)
		_, err := u.store.Receive(ctx, store.ReceiveRequest{In: in, Settle: true})
		return err
	})
	var all errgroup.Group
	all.SetLimit(32)
	for person := first; person < end; person++ {
		all.Go(func() error {
			err := u.talk(person, step)
			if person >= fresh {
				err = errors.Join(err, u.talkOnPage(person, step))
			}
			return err
		})
	}
	musttest.Do(u.t, all.Wait())
	synctest.Wait()
	stop()
	wanttest.Equal(u.t, "messages received on the page", received.Load(), int32(end-fresh))
	for n := range 3 {
		musttest.Do(u.t, u.operate(fmt.Sprintf("%d-%d", step, n)))
	}
}

// talk stores what a turn of a person stores.
func (u *longUse) talk(person, step int) error {
	id, err := u.use().Turn(u.t.Context(), person, step)
	for _, event := range []string{audit.TurnStart, audit.TurnEnd} {
		u.audit.Write(audit.Record{Event: event, Chat: strconv.Itoa(person), Run: id})
	}
	return err
}

func (u *longUse) use() storetest.LongUse {
	return storetest.LongUse{Store: u.store, Dir: u.dir, Now: time.Now}
}

// talkOnPage posts a message with a file on the page, and sends an answer with one.
func (u *longUse) talkOnPage(person, step int) error {
	chat, name := fmt.Sprintf("web-%032d", person), fmt.Sprintf("%d-%d", person, step)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name+".txt")
	if err != nil {
		return err
	}
	fmt.Fprint(part, name)
	if err := errors.Join(form.WriteField("text", "hello"), form.Close()); err != nil {
		return err
	}
	r := httptest.NewRequestWithContext(u.t.Context(), http.MethodPost, "/api/chats/"+chat+"/messages", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("X-User", fmt.Sprintf("user-%d", person))
	w := httptest.NewRecorder()
	if u.handler.ServeHTTP(w, r); w.Code != http.StatusAccepted {
		return fmt.Errorf("message %s: %d %s", name, w.Code, w.Body)
	}
	path := filepath.Join(u.dir, "answer-"+name)
	if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
		return err
	}
	defer os.Remove(path)
	out := channels.Outgoing{Chat: channels.Chat{Channel: web.Name, ID: chat}, Key: name, Media: []channels.File{{Path: path, Name: "a.txt"}}}
	_, err = u.page.Send(u.t.Context(), out)
	return err
}

// operate stores what schedules, runbooks, strangers and operators store.
func (u *longUse) operate(name string) error {
	ctx, records := u.t.Context(), u.store
	err := u.use().Rest(ctx, name)
	for _, by := range []string{runbook.ByAgent, "net:7"} {
		_, _, beginErr := runbook.Runs{Records: records}.Begin(ctx, runbook.Start{Runbook: u.book, By: by, Chat: "net:1"})
		err = errors.Join(err, beginErr)
	}
	_, linkErr := httpd.Grants{Records: records}.Make(ctx, "", httpd.Operator)
	return errors.Join(err, linkErr)
}

// measure returns the rows of all tables, and the files and bytes of folders. It closes and opens
// the state, which also writes the logs of the databases into their files.
func (u *longUse) measure() map[string]int64 {
	u.close()
	defer u.open()
	sizes := map[string]int64{}
	for name, path := range map[string]string{
		"nanobot.db": filepath.Join(u.dir, "state", sqlite.Database), "history.db": filepath.Join(u.dir, "state", "web", history.Database),
	} {
		db := musttest.Get(sql.Open("sqlite", "file:"+path+"?mode=ro"))(u.t)
		rows := musttest.Get(db.QueryContext(u.t.Context(), "SELECT name FROM sqlite_schema WHERE type = 'table'"))(u.t)
		var tables []string
		for rows.Next() {
			var table string
			musttest.Do(u.t, rows.Scan(&table))
			tables = append(tables, table)
		}
		musttest.Do(u.t, rows.Close())
		for _, table := range tables {
			var n int64
			musttest.Do(u.t, db.QueryRowContext(u.t.Context(), `SELECT count(*) FROM "`+table+`"`).Scan(&n))
			sizes[name+" "+table] = n
		}
		musttest.Do(u.t, db.Close())
	}
	musttest.Do(u.t, filepath.WalkDir(u.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		rel, _ := filepath.Rel(u.dir, path)
		name := filepath.Base(path)
		switch top := strings.Split(rel, string(filepath.Separator)); {
		case top[0] == "users":
			name = "users"
		case slices.Contains(top, history.Files), slices.Contains(top, "spool"):
			name = top[len(top)-2]
			if slices.Contains(top, "spool") {
				name = "spool"
			}
		case strings.HasPrefix(name, "audit.jsonl"):
			name = "audit.jsonl"
		}
		sizes[name+" files"]++
		if err == nil {
			sizes[name+" bytes"] += info.Size()
		}
		return err
	}))
	sizes["history.db bytes"] -= chatSize * sizes["history.db chats"]
	return sizes
}
