package web_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	_ "modernc.org/sqlite"

	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// streamPool opens many streams without network connections.
type streamPool struct {
	t       *testing.T
	h       http.Handler
	running sync.WaitGroup
	cancels []context.CancelFunc // of every stream that was opened
}

func newStreamPool(t *testing.T, r *fixture) *streamPool {
	a := &streamPool{t: t}
	_, a.h = r.ch.Mount()
	t.Cleanup(a.closeAll)
	return a
}

// closeAll ends all streams.
func (a *streamPool) closeAll() {
	for _, cancel := range a.cancels {
		cancel()
	}
	a.running.Wait()
}

// startRecorder reports the status of a response when it starts.
type startRecorder struct {
	*httptest.ResponseRecorder
	started chan int
	once    sync.Once
}

func (w *startRecorder) WriteHeader(status int) {
	w.once.Do(func() { w.started <- status })
	w.ResponseRecorder.WriteHeader(status)
}

func (w *startRecorder) Write(b []byte) (int, error) {
	w.once.Do(func() { w.started <- http.StatusOK })
	return w.ResponseRecorder.Write(b)
}

// open opens a stream of a user and returns the status of the response. leave ends the stream.
func (a *streamPool) open(user string) (status int, header http.Header, leave func()) {
	ctx, cancel := context.WithCancel(a.t.Context())
	a.cancels = append(a.cancels, cancel)
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/events", nil)
	req.Header.Set("X-User", user)
	w := &startRecorder{ResponseRecorder: httptest.NewRecorder(), started: make(chan int, 1)}
	done := make(chan struct{})
	a.running.Go(func() { defer close(done); a.h.ServeHTTP(w, req) })
	leave = func() { cancel(); <-done }
	status = <-w.started
	if status != http.StatusOK {
		leave()
		header = w.Header()
	}
	return status, header, leave
}

func TestStreamsPerUserAndInTotalAreLimited(t *testing.T) {
	a := newStreamPool(t, newFixture(t))
	fill := func(want, n int, user func(int) string) (leave func()) {
		t.Helper()
		for i := range n {
			var status int
			if status, _, leave = a.open(user(i)); status != want {
				t.Fatalf("%s, the %d., is answered %d", user(i), i+1, status)
			}
		}
		return leave
	}
	ann := func(int) string { return "ann" }
	operator := func(int) string { return "operator" }
	leave := fill(200, 32, ann)
	if status, header, _ := a.open("ann"); status != 429 || header.Get("Retry-After") == "" {
		t.Errorf("one more of one user's is answered %d %v", status, header)
	}
	leave()
	fill(200, 1, ann)
	fill(200, 1500-32, func(i int) string { return fmt.Sprint("user", i/32) })
	fill(503, 1, func(int) string { return "bob" })
	fill(200, 500, operator)
	fill(503, 1, operator)
	a.closeAll()
	fill(200, 1, func(int) string { return "bob" })
}

// execSQL changes the database of the history.
func (r *fixture) execSQL(statement string, args ...any) {
	r.t.Helper()
	if r.database != nil {
		postgrestest.Exec(r.t, r.database, statement)
		return
	}
	db := musttest.Get(sql.Open("sqlite", "file:"+filepath.Join(r.dir, "state", "web", "history.db")+"?_pragma=busy_timeout(300000)"))(r.t)
	defer db.Close()
	musttest.Get(db.ExecContext(r.t.Context(), statement, args...))(r.t)
}

func TestAStreamFarBehindStartsWithTheNewestEventsAndSaysSo(t *testing.T) {
	r := newFixture(t)
	r.postText("ann", "web-a-known-to-nobody-else", "the first")
	r.close()
	r.execSQL(`WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i < 5002)
		INSERT INTO events (chat, type, id, time, taken, body) SELECT 'web-a-known-to-nobody-else', 'message', i, 0, 1, '{"from":"bot","text":"x"}' FROM n`)
	r.stop = func() {}
	r.openChannel()
	for from, want := range map[string]struct {
		seq    string
		missed any
	}{"0": {"2", true}, "1": {"2", true}, "2": {"2", nil}, "5000": {"5000", nil}, "": {"5002", nil}} {
		tab := r.openStream("ann", from)
		if e := tab.next("ready"); e.id != want.seq || fmt.Sprint(e.data["seq"]) != want.seq || e.data["missed"] != want.missed {
			t.Errorf("from %q it begins with %+v", from, e)
		}
		if want.seq == "2" {
			for i := 3; i <= 5002; i++ {
				if e := tab.next("message"); e.id != fmt.Sprint(i) {
					t.Fatalf("from %q came %+v instead of %d", from, e, i)
				}
			}
		}
		tab.cancel()
	}
}

func TestAnAbortedStreamIsLogged(t *testing.T) {
	r := newFixture(t)
	core, logs := observer.New(zap.WarnLevel)
	r.log = zap.New(core)
	r.postText("ann", "web-a-known-to-nobody-else", "hello")
	r.restart()
	r.execSQL("UPDATE events SET body = 'damaged'")
	if all := r.openStream("ann", "0").readToEnd(); len(all) != 1 || all[0].name != "ready" {
		t.Errorf("told was %+v", all)
	}
	if got := logs.FilterMessage("event stream aborted").All(); len(got) != 1 || !strings.Contains(fmt.Sprint(got[0].ContextMap()["error"]), "read event 1") {
		t.Errorf("the log says %+v", logs.All())
	}
}

const fileForm = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"

// startUpload sends the beginning of a message with a file. finish sends the rest.
func (r *fixture) startUpload(user string) (finish func() int) {
	r.t.Helper()
	pipe, w := io.Pipe()
	req := musttest.Get(http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.server.URL+"/api/chats/web-"+user+"-known-to-nobody-else/messages", pipe))(r.t)
	req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	req.Header.Set("X-User", user)
	status := make(chan int, 1)
	go func() {
		resp, err := r.client.Do(req)
		if err != nil {
			r.t.Error(err)
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	folder := "users/web-" + user + "-known-to-nobody-else"
	files := len(r.filesIn(folder))
	_, _ = fmt.Fprint(w, fileForm)
	for len(r.filesIn(folder)) == files {
		_, _ = fmt.Fprint(w, "x")
	}
	return func() int {
		_, _ = fmt.Fprint(w, "\r\n--x--\r\n")
		w.Close()
		return <-status
	}
}

func TestConcurrentUploadsOfOneUserAreLimited(t *testing.T) {
	r := newFixture(t)
	send := func(user string) (int, http.Header) {
		status, _, header := r.request(user, "POST", "/api/chats/web-"+user+"-known-to-nobody-else/messages", "multipart/form-data; boundary=x", strings.NewReader(fileForm+"x\r\n--x--\r\n"))
		return status, header
	}
	var under []func() int
	for range 4 {
		under = append(under, r.startUpload("ann"))
	}
	if status, header := send("ann"); status != 429 || header.Get("Retry-After") == "" {
		t.Errorf("one more is answered %d %v", status, header)
	}
	if status, _ := send("bob"); status != 202 {
		t.Errorf("somebody else is answered %d", status)
	}
	r.postText("ann", "web-ann-known-to-nobody-else", "a word") // needs no room
	for _, finish := range under {
		wanttest.Equal(t, "one of those under way is answered", finish(), 202)
	}
	if status, _ := send("ann"); status != 202 {
		t.Errorf("then it is answered %d", status)
	}
}

// TestTheLengthOfAJSONMessageIsLimited sends what is valid as far as it goes.
func TestTheLengthOfAJSONMessageIsLimited(t *testing.T) {
	r := newFixture(t)
	r.maxUpload = 50 << 20
	r.restart()
	escaped := strings.Repeat(`\u0041`, 1<<20)
	if status, body, _ := r.request("ann", "POST", "/api/chats/web-a-known-to-nobody-else/messages", "application/json", strings.NewReader(`{"text": "`+escaped+`"}`)); status != 202 {
		t.Errorf("a text that just fits is answered %d %s", status, body)
	}
	far := `{"other": "` + strings.Repeat("x", 7<<20) + `", "text": "hello"}`
	status, answer, _ := r.request("ann", "POST", "/api/chats/web-a-known-to-nobody-else/messages", "application/json", strings.NewReader(far))
	if status != 413 || !strings.Contains(answer, "Send it as a file") {
		t.Errorf("answered %d %s", status, answer)
	}
}
