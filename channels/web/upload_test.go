package web_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func testPNG(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	musttest.Do(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))))
	return b.String()
}

func TestFilesReachTheAgentAndAreShown(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	tab := r.openStream("ann", "")
	picture := testPNG(t)
	if status, answer := r.postForm("ann", "web-a-known-to-nobody-else", "look\r\nhere", formFile{"große Übersicht.png", picture}, formFile{"notes.txt", "some notes"}, formFile{"notes.txt", "other notes"}); status != 202 {
		t.Fatalf("answered %d %v", status, answer)
	}
	in := r.awaitIncoming(1)[0]
	if in.Text != "look\nhere" || len(in.Media) != 3 || len(in.MediaNames) != 3 {
		t.Fatalf("received was %+v", in)
	}
	for i, want := range []formFile{{"große Übersicht.png", picture}, {"notes.txt", "some notes"}, {"notes.txt", "other notes"}} {
		got, err := os.ReadFile(in.Media[i])
		if err != nil || string(got) != want.content || filepath.Dir(in.Media[i]) != filepath.Join(r.dir, "users", "web-a-known-to-nobody-else") || !strings.HasSuffix(in.Media[i], "-"+strings.ReplaceAll(want.name, " ", "_")) || in.MediaNames[i] != want.name {
			t.Errorf("the agent finds %s: %.40q, %v", in.Media[i], got, err)
		}
	}
	if in.Media[1] == in.Media[2] {
		t.Error("two files have one name")
	}
	media := tab.next("message").data["media"].([]any)
	first := media[0].(object)
	if first["name"] != "große Übersicht.png" || first["type"] != "image/png" || first["width"] != 30.0 || first["height"] != 20.0 || first["size"] != float64(len(picture)) {
		t.Errorf("shown was %+v", first)
	}
	if kept := r.filesIn("state/web/media"); len(kept) != 0 {
		t.Errorf("there are second copies: %v", kept)
	}
}

var goodName = regexp.MustCompile(`^[a-z0-9]{8}-[^/\\<>:"|?*\x00-\x1f]{1,180}$`)

func TestAFileNameCannotEscapeTheFolder(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	names := []string{
		"../../../etc/passwd", `..\..\windows\system.ini`, "/etc/passwd", "..", ".", "", "a\x00b", "a\nb", ".htaccess", strings.Repeat("ü", 300) + ".png", "a/../../b", "-rf",
		"CON:<>|?*",
	}
	for _, name := range names {
		req := fmt.Sprintf("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=%q\r\n\r\ncontent\r\n--x--\r\n", name)
		status, body, _ := r.request("ann", "POST", "/api/chats/web-a-known-to-nobody-else/messages", "multipart/form-data; boundary=x", strings.NewReader(req))
		if status != 202 && status != 400 {
			t.Errorf("%q is answered %d %s", name, status, body)
		}
	}
	wanttest.EqualSlices(t, "outside there are", r.filesIn("."), []string{"state", "users"})
	for _, name := range r.filesIn("users/web-a-known-to-nobody-else") {
		if !goodName.MatchString(name) {
			t.Errorf("a file is called %q", name)
		}
	}
	if got := r.filesIn("users/web-a-known-to-nobody-else"); len(got) < len(names)-2 {
		t.Errorf("there are %d files: %q", len(got), got)
	}
}

func TestAFileIDCannotNameAnotherFile(t *testing.T) {
	r := newFixture(t)
	r.postForm("ann", "web-a-known-to-nobody-else", "", formFile{"a.txt", "x"})
	for _, id := range []string{"..%2fhistory.db", "..", "../history.db", "%2e%2e%2fhistory.db", "/etc/passwd", "%2fetc%2fpasswd", "nothing", "..%5chistory.db", "%00"} {
		if status, body, _ := r.request("operator", "GET", "/api/media/"+id, "", nil); status == 200 {
			t.Errorf("%s is answered %d %.40q", id, status, body)
		}
	}
	for _, path := range []string{"/page.go", "/..%2fweb.go", "/../web.go", "/openapi.json", "/%2e%2e/go.mod", "/api/nothing"} {
		if status, body, _ := r.request("operator", "GET", path, "", nil); status == 200 {
			t.Errorf("%s is answered %d %.40q", path, status, body)
		}
	}
}

func TestFilesAreServedSoThatNothingInThemRuns(t *testing.T) {
	r := newFixture(t)
	tab := r.openStream("ann", "")
	html := "<!doctype html><script>alert(1)</script>"
	svg := `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
	for _, c := range []struct{ name, content, kind, how string }{
		{"page.html", html, "text/plain; charset=utf-8", "attachment"},
		{"photo.png", html, "text/plain; charset=utf-8", "attachment"}, // its name has no say
		{"drawing.svg", svg, "application/octet-stream", "attachment"},
		{"script.js", "alert(1)", "text/plain; charset=utf-8", "attachment"},
		{"page.xhtml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>`, "", "attachment"},
		{"paper.pdf", "%PDF-1.7\n", "application/pdf", "attachment"},
		{"empty", "", "text/plain; charset=utf-8", "attachment"},
		{"page.html", testPNG(t), "image/png", "inline"},
		{"sound.ogg", "OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x1eOpusHead", "audio/ogg", "inline"},
		{"film.mp4", "\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1mp41", "video/mp4", "inline"},
		{"old.gif", "GIF89a\x01\x00\x01\x00\x00\x00\x00;", "image/gif", "inline"},
	} {
		r.postForm("ann", "web-a-known-to-nobody-else", "", formFile{c.name, c.content})
		m := tab.next("message").data["media"].([]any)[0].(object)
		status, body, h := r.request("ann", "GET", "/api/media/"+m["id"].(string), "", nil)
		if status != 200 || body != c.content {
			t.Errorf("%s: served %d %.60q", c.name, status, body)
		}
		if got := h.Get("Content-Type"); got != m["type"] || c.kind != "" && got != c.kind || strings.Contains(got, "html") || strings.Contains(got, "xml") {
			t.Errorf("%s is served as %s and shown as %s", c.name, got, m["type"])
		}
		if got := h.Get("Content-Disposition"); got != c.how+"; filename="+c.name {
			t.Errorf("%s: disposition %s", c.name, got)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") != "default-src 'none'; sandbox" || h.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: headers %v", c.name, h)
		}
	}
}

func TestAPartOfAFileIsServed(t *testing.T) {
	r := newFixture(t)
	tab := r.openStream("ann", "")
	r.postForm("ann", "web-a-known-to-nobody-else", "", formFile{"a.txt", "0123456789"})
	id := tab.next("message").data["media"].([]any)[0].(object)["id"].(string)
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, r.server.URL+"/api/media/"+id, nil))(t)
	req.Header.Set("X-User", "ann")
	req.Header.Set("Range", "bytes=3-5")
	resp := musttest.Get(r.client.Do(req))(t)
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusPartialContent || string(b) != "345" {
		t.Errorf("served was %s %q", resp.Status, b)
	}
}

func TestAnUploadThatIsTooBigIsRefusedAndLeavesNothing(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	big := strings.Repeat("x", int(r.maxUpload))
	for name, files := range map[string][]formFile{
		"a file":          {{"a", big + "x"}},
		"files together":  {{"a", big}, {"b", "x"}},
		"a far too large": {{"a", strings.Repeat(big, 4)}},
	} {
		status, answer := r.postForm("ann", "web-a-known-to-nobody-else", "", files...)
		if status != 413 || !strings.Contains(fmt.Sprint(answer["error"]), "may have at most 1.0 MB in total") {
			t.Errorf("%s: answered %d %v", name, status, answer)
		}
	}
	if status, answer := r.postForm("ann", "web-a-known-to-nobody-else", "", formFile{"a", big}); status != 202 {
		t.Errorf("what just fits is answered %d %v", status, answer)
	}
	if got := r.awaitIncoming(1); len(got) != 1 {
		t.Errorf("received was %v", got)
	}
	if kept, seen := r.filesIn("state/web/media"), r.filesIn("users/web-a-known-to-nobody-else"); len(kept) != 0 || len(seen) != 1 {
		t.Errorf("on disk are %v and %v", kept, seen)
	}
}

func TestAnUploadWithoutEndIsCutOff(t *testing.T) {
	r := newFixture(t)
	head := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"
	sent := &endlessBody{left: head}
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, r.server.URL+"/api/chats/web-a-known-to-nobody-else/messages", sent))(t)
	req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	req.Header.Set("X-User", "ann")
	if resp, err := r.client.Do(req); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("answered %s", resp.Status)
		}
	}
	if n := sent.n.Load(); n > 100<<20 {
		t.Errorf("%d bytes were taken", n)
	}
	if kept := r.filesIn("users"); len(kept) != 0 {
		t.Errorf("on disk are %v", kept)
	}
}

type endlessBody struct {
	left string       // only Read touches it
	n    atomic.Int64 // the client may still read when it has its answer
}

func (e *endlessBody) Read(b []byte) (int, error) {
	e.n.Add(int64(len(b)))
	if e.left != "" {
		n := copy(b, e.left)
		e.left = e.left[n:]
		return n, nil
	}
	return len(b), nil
}

func TestAnUploadThatBreaksOffLeavesNothing(t *testing.T) {
	r := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	pipe, w := io.Pipe()
	req := musttest.Get(http.NewRequestWithContext(ctx, http.MethodPost, r.server.URL+"/api/chats/web-a-known-to-nobody-else/messages", pipe))(t)
	req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	req.Header.Set("X-User", "ann")
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := r.client.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	fmt.Fprintf(w, "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n%s", strings.Repeat("y", 100_000))
	for len(r.filesIn("users/web-a-known-to-nobody-else")) == 0 { // until it comes in
		fmt.Fprint(w, "y")
	}
	cancel()
	w.Close()
	<-done
	r.close() // which waits for the request
	if kept := r.filesIn("users"); len(kept) != 0 {
		t.Errorf("on disk are %v", kept)
	}
	r.openChannel()
	var chats []object
	if r.getJSON("operator", "/api/chats", &chats); len(chats) != 0 {
		t.Errorf("there are %v", chats)
	}
}

func TestAFileThatIsSentAgainIsOneFile(t *testing.T) {
	r := newFixture(t)
	r.startGateway()
	form := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\ncontent\r\n" +
		"--x\r\nContent-Disposition: form-data; name=\"client_id\"\r\n\r\nc1\r\n--x--\r\n"
	var first string
	for range 3 {
		status, body, _ := r.request("ann", "POST", "/api/chats/web-a-known-to-nobody-else/messages", "multipart/form-data; boundary=x", strings.NewReader(form))
		if first == "" {
			first = body
		}
		if status != 202 || body != first {
			t.Errorf("answered %d %s, first %s", status, body, first)
		}
	}
	if kept, seen := r.filesIn("state/web/media"), r.filesIn("users/web-a-known-to-nobody-else"); len(kept) != 0 || len(seen) != 1 {
		t.Errorf("on disk are %v and %v", kept, seen)
	}
}
