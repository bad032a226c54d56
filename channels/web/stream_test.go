package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/web"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestAReconnectMissesNothing(t *testing.T) {
	r := newFixture(t)
	r.postText("ann", "web-a-known-to-nobody-else", "hello")
	first := r.openStream("ann", "")
	r.sendAsBot(answerTo("web-a-known-to-nobody-else", "1"), "")
	seen := first.next("message").id
	first.cancel()
	for i := 2; i < 250; i++ { // more than is read at once
		r.sendAsBot(answerTo("web-a-known-to-nobody-else", strconv.Itoa(i)), "")
	}
	r.restart()
	r.sendAsBot(answerTo("web-a-known-to-nobody-else", "250"), "")
	second := r.openStream("ann", seen)
	go func() {
		for i := 251; i <= 300; i++ { // while it catches up
			if _, err := r.ch.Send(t.Context(), channels.Outgoing{Chat: channels.Chat{Channel: web.Name, ID: "web-a-known-to-nobody-else"}, Kind: channels.Answer, Text: strconv.Itoa(i)}); err != nil {
				t.Error(err)
			}
		}
	}()
	for i := 2; i <= 300; i++ {
		if e := second.next("message"); e.data["text"] != strconv.Itoa(i) || e.id != fmt.Sprint(e.data["seq"]) {
			t.Fatalf("instead of %d came %+v", i, e)
		}
	}
	if e := second.all[0]; e.name != "ready" || e.id != seen || fmt.Sprint(e.data["seq"]) != seen {
		t.Errorf("the stream begins with %+v, and %s was seen", e, seen)
	}
	last := second.all[len(second.all)-1].id
	if third := r.openStream("ann", last); third.next("ready").id != last {
		t.Error("who has seen all is told more")
	}
}

func TestWatchedReportsConnectedOperators(t *testing.T) {
	r := newFixture(t)
	r.openStream("ann", "").next("ready")
	if r.ch.Watched() {
		t.Error("somebody who chats is taken for an operator")
	}
	r.openStream("operator", "").next("ready")
	if !r.ch.Watched() {
		t.Error("an operator is not seen")
	}
	r.ch.CloseStreams()
	if r.ch.Watched() {
		t.Error("who is gone still watches")
	}
}

func TestAStreamWithoutAPositionStartsNow(t *testing.T) {
	r := newFixture(t)
	r.postText("ann", "web-a-known-to-nobody-else", "one")
	r.postText("ann", "web-a-known-to-nobody-else", "two")
	for from, want := range map[string]string{"": "three", "1": "two", "0": "one", "nonsense": "three", "99999": "three", "-5": "three"} {
		tab := r.openStream("ann", from)
		if at := tab.next("ready"); from != "1" && from != "0" && at.id != "2" {
			t.Errorf("from %q it begins at %+v", from, at)
		}
		r.sendAsBot(progressIn("web-a-known-to-nobody-else", "now"), "")
		tab.next("progress")
		got := "three"
		if len(tab.all) > 2 {
			got = tab.all[1].data["text"].(string)
		}
		if got != want {
			t.Errorf("from %q the first is %q, want %q: %+v", from, got, want, tab.all)
		}
		tab.cancel()
	}
	if status, _, _ := r.request("ann", "GET", "/api/events?after=x", "", nil); status != 400 {
		t.Errorf("nonsense is answered %d", status)
	}
}

func TestPublishReachesOperatorsOnly(t *testing.T) {
	r := newFixture(t)
	ann, operator := r.openStream("ann", ""), r.openStream("operator", "")
	if e := ann.next("ready"); e.data["user"] != "ann" || e.data["operator"] != false || e.data["max_upload"] != float64(r.maxUpload) {
		t.Errorf("ann is told %+v", e)
	}
	r.ch.Publish("turn", object{"id": 7})
	r.ch.Publish("odd", func() {})
	if e := operator.next("turn"); e.data["id"] != 7.0 || e.id != "" {
		t.Errorf("the operator is told %+v", e)
	}
	operator.next("odd")
	r.postText("ann", "web-a-known-to-nobody-else", "hello")
	if ann.next("message"); len(ann.all) != 2 {
		t.Errorf("ann is told %+v", ann.all)
	}
}

func TestASlowStreamIsEndedAndResumesWhereItWas(t *testing.T) {
	r := newFixture(t)
	r.postText("ann", "web-a-known-to-nobody-else", "hello")
	// With small buffers in the kernel it takes few bytes to be too slow.
	slow := httptest.NewUnstartedServer(r.server.Config.Handler)
	slow.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
		return ctx
	}
	slow.Start()
	defer slow.Close()
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, slow.URL+"/api/events", nil))(t)
	req.Header.Set("X-User", "ann")
	resp, err := (&http.Client{Transport: &http.Transport{DialContext: dialWithSmallBuffer}}).Do(req) // and nothing is read of it
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	brisk := r.openStream("ann", "")
	const n = 1000
	text := strings.Repeat("much to read ", 100)
	for i := range n {
		r.sendAsBot(progressIn("web-a-known-to-nobody-else", fmt.Sprintf("%d %s", i, text)), "") // which is quicker than what is kept
		brisk.next("progress")
	}
	r.sendAsBot(answerTo("web-a-known-to-nobody-else", "the end"), "")
	s := &stream{t: t, events: make(chan event, 2*n)}
	s.read(resp.Body) // it ends by itself
	all := s.readToEnd()
	if len(all) >= n || all[0].name != "ready" {
		t.Fatalf("%d events came, of which the first is %+v", len(all), all[0])
	}
	if again := r.openStream("ann", all[0].id); again.next("message").data["text"] != "the end" {
		t.Errorf("coming back shows %+v", again.all)
	}
	brisk.next("message")
}

func dialWithSmallBuffer(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		err = conn.(*net.TCPConn).SetReadBuffer(16 << 10)
	}
	return conn, err
}

func TestCloseStreamsEndsStreamsAndClientsMayReconnect(t *testing.T) {
	r := newFixture(t)
	tab := r.openStream("ann", "")
	tab.next("ready")
	r.ch.CloseStreams()
	tab.readToEnd()
	r.openStream("ann", "").next("ready")
}

func TestAStreamIsNotBuffered(t *testing.T) {
	r := newFixture(t)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, r.server.URL+"/api/events", nil)
	req.Header.Set("X-User", "ann")
	resp := musttest.Get(r.client.Do(req))(t)
	defer resp.Body.Close()
	if resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("its headers are %v", resp.Header)
	}
	b := make([]byte, 13)
	if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != "event: ready\n" {
		t.Errorf("it begins with %q, %v", b, err)
	}
}

func TestASendThatIsRepeatedIsOneMessage(t *testing.T) {
	r := newFixture(t)
	file := filepath.Join(t.TempDir(), "spooled")
	musttest.Do(t, os.WriteFile(file, []byte("content"), 0o600))
	m := answerTo("web-a-known-to-nobody-else", "once")
	m.Media = []channels.File{{Path: file, Name: "a.txt", Size: 7}}
	first := r.sendAsBot(m, "k1")
	if again := r.sendAsBot(m, "k1"); again != first {
		t.Errorf("again it is %+v, was %+v", again, first)
	}
	r.restart()
	if err := os.Remove(file); err != nil { // the spool's copy goes when the send is settled
		t.Fatal(err)
	}
	if again := r.sendAsBot(m, "k1"); again != first {
		t.Errorf("after a restart it is %+v, was %+v", again, first)
	}
	if !r.ch.Repeatable() {
		t.Error("it does not say so")
	}
	r.sendAsBot(answerTo("web-a-known-to-nobody-else", "twice"), "k2")
	tab := r.openStream("operator", "0")
	one, two := tab.next("message"), tab.next("message")
	if one.data["text"] != "once" || two.data["text"] != "twice" {
		t.Errorf("kept were %+v, %+v", one, two)
	}
	id := one.data["media"].([]any)[0].(object)["id"].(string)
	wanttest.Equal(t, "the file holds", r.getFile(id), "content")
	if kept := r.filesIn("state/web/media"); len(kept) != 1 {
		t.Errorf("on disk are %v", kept)
	}
}

func TestASendWhoseFileIsMissingFailsPermanently(t *testing.T) {
	r := newFixture(t)
	m := answerTo("web-a-known-to-nobody-else", "look")
	m.Media = []channels.File{{Path: filepath.Join(t.TempDir(), "gone"), Name: "a.txt"}}
	plan, _ := r.ch.Plan(m)
	_, err := r.ch.Send(t.Context(), plan[0])
	var se *channels.SendError
	if !errors.As(err, &se) || !se.Permanent {
		t.Errorf("Send returned %v", err)
	}
	if kept := r.filesIn("state/web/media"); len(kept) != 0 {
		t.Errorf("on disk are %v", kept)
	}
}

func TestAVeryLongTextBecomesAFile(t *testing.T) {
	r := newFixture(t)
	text := strings.Repeat("a line of words\n", 10_000)
	tab := r.openStream("operator", "")
	r.sendAsBot(answerTo("web-a-known-to-nobody-else", text), "")
	e := tab.next("message")
	media := e.data["media"].([]any)
	if len(media) != 1 || !strings.Contains(e.data["text"].(string), "the whole answer is in the file") {
		t.Fatalf("shown was %.100s with %v", e.data["text"], media)
	}
	if got := r.getFile(media[0].(object)["id"].(string)); got != text {
		t.Errorf("the file has %d bytes of %d", len(got), len(text))
	}
}

func TestRequestsAfterCloseAreRefused(t *testing.T) {
	r := newFixture(t)
	r.postText("ann", "web-a-known-to-nobody-else", "hello")
	musttest.Do(t, r.ch.Close())
	if status, _, _ := r.request("ann", "GET", "/api/chats", "", nil); status != 503 {
		t.Errorf("answered %d", status)
	}
	if _, err := r.ch.Send(t.Context(), channels.Outgoing{Chat: channels.Chat{Channel: web.Name, ID: "web-a-known-to-nobody-else"}, Text: "x"}); err == nil {
		t.Error("something was sent")
	}
	if err := r.ch.Run(t.Context(), r.inbox.Receive); err == nil {
		t.Error("it runs")
	}
}
