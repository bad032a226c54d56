package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"nanobot/channels/web/page"
	"nanobot/internal/addrtest"
	"nanobot/internal/musttest"
	"nanobot/internal/words"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; connect-src 'self'; manifest-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

type obj = map[string]any

// fake speaks the page's API from memory, and lets a test decide what happens.
type fake struct {
	t     *testing.T
	addr  string
	srv   *http.Server
	inner atomic.Pointer[http.Handler]

	mu              sync.Mutex
	seq             int
	log             []obj // events with seq
	live            map[string]obj
	media           map[string]file
	posted          map[string]obj // by client ID
	streams         map[chan obj]bool
	turns           []obj
	details         map[int]obj
	chats           map[string]string
	lost, schedules []obj
	usage           map[string][]obj // by the key and the time that are asked for
	health          obj
	menu            obj
	acted           []string
	presses         chan obj
	onText          func(chat, text string, files []string)
	user            string
	begins          int // streams go no further back than behind this event
	words           *words.Catalogue
}

type file struct {
	kind string
	data []byte
}

// newFake starts a fake. Tests run in parallel: each has its own fake and its own window in the one
// browser.
func newFake(t *testing.T) *fake {
	t.Parallel()
	f := &fake{
		t: t, user: "ann", live: map[string]obj{}, media: map[string]file{}, posted: map[string]obj{}, streams: map[chan obj]bool{}, chats: map[string]string{},
		menu: obj{"commands": []obj{}, "agents": []string{}}, details: map[int]obj{}, presses: make(chan obj, 10), onText: func(string, string, []string) {},
		health: obj{"ok": true, "running": 0, "waiting": 0, "channels": obj{"web": obj{"ok": true, "since": time.Now()}}},
	}
	f.serve(f.handler())
	f.start(addrtest.Reserve(t))
	t.Cleanup(f.stop)
	return f
}

func (f *fake) url() string { return "http://" + f.addr + "/" }

func (f *fake) start(addr string) {
	l := musttest.Get(net.Listen("tcp", addr))(f.t)
	f.addr = l.Addr().String()
	f.srv = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*f.inner.Load()).ServeHTTP(w, r) })}
	go f.srv.Serve(l)
}

// serve puts something in front of the fake's own handler, or in place of it.
func (f *fake) serve(h http.Handler) { f.inner.Store(&h) }

func (f *fake) stop() { f.srv.Close() }

func (f *fake) handler() http.Handler {
	mux := http.NewServeMux()
	files := http.FileServerFS(page.Files)
	mux.Handle("GET /", files)
	mux.HandleFunc("GET /manifest.webmanifest", func(w http.ResponseWriter, _ *http.Request) {
		manifest, err := page.Bot{}.Manifest()
		if err != nil {
			f.t.Error(err)
		}
		w.Header().Set("Content-Type", "application/manifest+json")
		_, _ = w.Write(manifest)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		document, err := page.Document(f.words.For(r.Header.Get("Accept-Language")), page.Bot{})
		if err != nil {
			f.t.Error(err)
		}
		io.WriteString(w, document)
	})
	mux.HandleFunc("GET /api/chats", f.listChats)
	mux.HandleFunc("POST /api/chats", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		reply(w, 200, obj{"id": fmt.Sprintf("c%d", time.Now().UnixNano())})
	})
	mux.HandleFunc("GET /api/chats/{id}/messages", f.history)
	mux.HandleFunc("POST /api/chats/{id}/messages", f.post)
	mux.HandleFunc("POST /api/chats/{id}/press", f.press)
	mux.HandleFunc("GET /api/chats/{id}/menu", func(w http.ResponseWriter, _ *http.Request) { f.locked(func() { reply(w, 200, f.menu) }) })
	mux.HandleFunc("GET /api/media/{id}", f.serveMedia)
	mux.HandleFunc("GET /api/search", f.search)
	mux.HandleFunc("GET /api/events", f.events)
	mux.HandleFunc("GET /api/health", func(w http.ResponseWriter, _ *http.Request) { f.locked(func() { reply(w, 200, f.health) }) })
	mux.HandleFunc("GET /api/undelivered", func(w http.ResponseWriter, _ *http.Request) {
		f.locked(func() { reply(w, 200, append([]obj{}, f.lost...)) })
	})
	mux.HandleFunc("GET /api/schedules", func(w http.ResponseWriter, _ *http.Request) {
		f.locked(func() { reply(w, 200, append([]obj{}, f.schedules...)) })
	})
	mux.HandleFunc("GET /api/usage", func(w http.ResponseWriter, r *http.Request) {
		f.locked(func() { reply(w, 200, append([]obj{}, f.usage[r.FormValue("by")+" "+r.FormValue("since")]...)) })
	})
	mux.HandleFunc("GET /api/turns", f.listTurns)
	mux.HandleFunc("GET /api/turns/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.locked(func() {
			id, _ := strconv.Atoi(r.PathValue("id"))
			d := obj{"frames": []obj{}, "parts": []obj{}}
			for _, t := range f.turns {
				if t["id"] == id {
					for k, v := range t {
						d[k] = v
					}
				}
			}
			for k, v := range f.details[id] {
				d[k] = v
			}
			reply(w, 200, d)
		})
	})
	mux.HandleFunc("POST /api/turns/{id}/{act}", func(w http.ResponseWriter, r *http.Request) {
		f.locked(func() { f.acted = append(f.acted, r.PathValue("act")+" "+r.PathValue("id")) })
		reply(w, 202, obj{"ok": true})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

func (f *fake) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (f *fake) listChats(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	updated := map[string]any{}
	for _, e := range f.log {
		updated[e["chat"].(string)] = e["time"]
	}
	out := []obj{}
	for id, title := range f.chats {
		out = append(out, obj{"id": id, "title": title, "updated": updated[id]})
	}
	reply(w, 200, out)
}

func (f *fake) history(w http.ResponseWriter, r *http.Request) {
	before, _ := strconv.Atoi(r.URL.Query().Get("before"))
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	forwards := err == nil
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []obj{}
	for _, e := range f.log {
		seq := e["seq"].(int)
		if e["event"] == "message" && e["chat"] == r.PathValue("id") && (before == 0 || seq < before) && (!forwards || seq > after) {
			all = append(all, e)
		}
	}
	more := len(all) > limit
	switch {
	case more && forwards:
		all = all[:limit]
	case more:
		all = all[len(all)-limit:]
	}
	reply(w, 200, obj{"messages": all, "more": more})
}

// search finds a text in what people have written.
func (f *fake) search(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	results := []obj{}
	for _, e := range f.log {
		if text, _ := e["text"].(string); e["from"] == "user" && strings.Contains(text, r.URL.Query().Get("q")) {
			results = append(results, obj{"chat": e["chat"], "title": f.chats[e["chat"].(string)], "seq": e["seq"], "message": e["id"], "excerpt": text, "time": e["time"]})
		}
	}
	reply(w, 200, obj{"results": results, "more": false})
}

func (f *fake) post(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseMultipartForm(32 << 20); err != nil {
		reply(w, 400, obj{"error": err.Error()})
		return
	}
	chat, client := r.PathValue("id"), r.FormValue("client_id")
	in, _, err := r.FormFile("text") // as such its line ends are what was typed
	if err != nil {
		reply(w, 400, obj{"error": err.Error()})
		return
	}
	typed, _ := io.ReadAll(in)
	text := string(typed)
	var media []obj
	var names []string
	for _, h := range r.MultipartForm.File["file"] {
		in, _ := h.Open()
		data, _ := io.ReadAll(in)
		media = append(media, f.keep(h.Filename, h.Header.Get("Content-Type"), data))
		names = append(names, h.Filename)
	}
	f.mu.Lock()
	if old := f.posted[client]; old != nil {
		f.mu.Unlock()
		reply(w, 202, obj{"id": old["id"], "seq": old["seq"]})
		return
	}
	if f.chats[chat] == "" {
		f.chats[chat] = text
	}
	e := f.append(obj{"event": "message", "chat": chat, "from": "user", "kind": "message", "text": text, "media": media, "client_id": client})
	f.posted[client] = e
	f.mu.Unlock()
	reply(w, 202, obj{"id": e["id"], "seq": e["seq"]})
	f.onText(chat, text, names)
}

// append adds to the log. The caller holds the lock.
func (f *fake) append(e obj) obj {
	f.seq++
	e["seq"] = f.seq
	if e["id"] == nil {
		e["id"] = "m" + strconv.Itoa(f.seq)
	}
	if e["time"] == nil {
		e["time"] = time.Now()
	}
	if e["from"] == "user" {
		e["user"] = f.user
	}
	f.log = append(f.log, e)
	f.publish(e)
	return e
}

func (f *fake) publish(e obj) {
	for c := range f.streams {
		c <- e
	}
}

// say lets the bot say something.
func (f *fake) say(chat, markdown string, extra obj) obj {
	var html bytes.Buffer
	goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(markdown), &html)
	e := obj{"event": "message", "chat": chat, "from": "bot", "kind": "message", "text": markdown, "html": html.String()}
	for k, v := range extra {
		e[k] = v
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.append(e)
}

func (f *fake) progress(chat, id, text string, since time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := obj{
		"event": "progress", "chat": chat, "id": id, "text": text, "html": "<p>" + text + "</p>", "since": since,
		"buttons": []obj{{"label": "Stop", "data": "stop:" + id, "role": "stop"}},
	}
	f.live[chat+id] = e
	f.publish(e)
}

func (f *fake) draft(chat, id, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := obj{
		"event": "progress", "chat": chat, "id": id, "text": text, "html": "<p>" + text + "</p>", "since": time.Now(), "draft": true,
		"buttons": []obj{{"label": "Stop", "data": "stop:" + id, "role": "stop"}},
	}
	f.live[chat+id] = e
	f.publish(e)
}

func (f *fake) gone(chat, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.live, chat+id)
	f.publish(obj{"event": "gone", "chat": chat, "id": id})
}

func (f *fake) keep(name, kind string, data []byte) obj {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := fmt.Sprintf("f%d", len(f.media))
	f.media[id] = file{kind, data}
	m := obj{"id": id, "name": name, "type": kind, "size": len(data)}
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		m["width"], m["height"] = c.Width, c.Height
	}
	return m
}

func (f *fake) press(w http.ResponseWriter, r *http.Request) {
	var p obj
	json.NewDecoder(r.Body).Decode(&p)
	f.mu.Lock()
	for _, e := range f.log {
		if e["id"] == p["message"] && e["buttons"] != nil {
			e["pressed"] = p["data"]
		}
	}
	f.append(obj{"event": "pressed", "chat": r.PathValue("id"), "id": p["message"], "data": p["data"]})
	f.mu.Unlock()
	reply(w, 202, obj{"ok": true})
	f.presses <- p
}

func (f *fake) serveMedia(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	m, ok := f.media[r.PathValue("id")]
	f.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", m.kind)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(m.data))
}

func (f *fake) events(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	c := make(chan obj, 1000)
	f.mu.Lock()
	ready := obj{"event": "ready", "user": f.user, "name": ""}
	if err == nil && after < f.begins {
		after, ready["missed"] = f.begins, true
	}
	c <- ready
	for _, e := range f.log {
		if err == nil && e["seq"].(int) > after {
			c <- e
		}
	}
	for _, e := range f.live {
		c <- e
	}
	f.streams[c] = true
	f.mu.Unlock()
	defer f.locked(func() { delete(f.streams, c) })
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case e := <-c:
			b, _ := json.Marshal(e)
			if e["seq"] != nil {
				fmt.Fprintf(w, "id: %d\n", e["seq"])
			}
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["event"], b)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (f *fake) listTurns(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []obj{}
	for _, t := range f.turns {
		outcome := t["state"]
		if outcome == "done" {
			outcome = t["status"]
		}
		before, err := strconv.Atoi(q.Get("before"))
		if (q.Get("chat") == "" || q.Get("chat") == t["chat"]) && (q.Get("outcome") == "" || q.Get("outcome") == outcome) && (err != nil || t["id"].(int) < before) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b obj) int { return b["id"].(int) - a["id"].(int) })
	if limit, err := strconv.Atoi(q.Get("limit")); err == nil {
		out = out[:min(limit, len(out))]
	}
	reply(w, 200, out)
}

// turn adds a turn, or replaces it, and tells the console.
func (f *fake) turn(t obj) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(t)
	e := obj{"event": "turn"}
	for k, v := range t {
		e[k] = v
	}
	f.publish(e)
}

// note adds a turn, or replaces it, of which the console is not told. The caller holds the lock.
func (f *fake) note(t obj) {
	for i, old := range f.turns {
		if old["id"] == t["id"] {
			f.turns = append(f.turns[:i], f.turns[i+1:]...)
			break
		}
	}
	f.turns = append([]obj{t}, f.turns...)
}

// picture is a soft landscape; n changes its hues.
func picture(n, width, height int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			fx, fy := float64(x)/float64(width), float64(y)/float64(height)
			hill := 0.62 + 0.1*math.Sin(fx*5+float64(n)*1.7) + 0.05*math.Sin(fx*13+float64(n))
			near := 0.8 + 0.06*math.Sin(fx*7+float64(n)*2.3)
			c := color.RGBA{uint8(250 - 70*fy - 12*float64(n)), uint8(205 - 60*fy + 8*float64(n)), uint8(170 + 40*fy), 255}
			sx, sy := fx-0.25-0.2*float64(n), fy-0.3
			if sx*sx*1.8+sy*sy < 0.012 {
				c = color.RGBA{255, 240, 205, 255}
			}
			if fy > hill {
				c = color.RGBA{uint8(96 - 10*n), uint8(126 + 6*n), uint8(132 - 8*n), 255}
			}
			if fy > near {
				c = color.RGBA{uint8(52 + 6*n), uint8(84), uint8(82 - 6*n), 255}
			}
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	png.Encode(&b, img)
	return b.Bytes()
}
