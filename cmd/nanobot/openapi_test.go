package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/gatewaytest"
	"nanobot/internal/musttest"
)

// describedAgent does what there is to be described.
const describedAgent = `read -r line; text=${line#*'"text":"'}; text=${text%%'"'*}
	say() { echo "{\"type\":\"$1\",\"text\":\"$2\"}"; }
	case $text in
	slow) say progress working; while [ ! -e go ]; do sleep 0.01; done; say message done;;
	ask) echo '{"type":"ask","id":"q1","text":"Which one?","options":["Red","Blue"]}'; read -r answer; say message thanks;;
	secret) echo '{"type":"ask","id":"q2","text":"Password?","secret":true}'; read -r answer; say message thanks;;
	offer) echo '{"type":"message","text":"Shall I?","buttons":["Yes"]}';;
	picture) echo "{\"type\":\"message\",\"text\":\"look\",\"media\":[\"$PWD/pic.png\"]}";;
	crash) kill -SEGV $$;;
	fail) for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for j in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do echo '{"type":"log","level":"error","text":"hm"}'; done; done
		echo no >&2; exit 4;;
	*) say message "re $text";;
	esac
`

// api is a daemon on the web and a network, and those who use it.
type api struct {
	*apiDescription
	b            *webBot
	net          *gatewaytest.Network
	ann, bob, op *http.Client
	next         func(name string, with ...string) []byte
	picture      string
}

func newAPI(t *testing.T) *api {
	t.Helper()
	dir := t.TempDir()
	a := &api{b: &webBot{t: t, listen: freeAddress(t), cfg: filepath.Join(dir, "config.json")}, net: gatewaytest.NewNetwork()}
	t.Cleanup(a.net.Close)
	t.Setenv("TEST_NETWORK_URL", a.net.URL)
	a.net.Fault = func(gatewaytest.Call) gatewaytest.Fault {
		return gatewaytest.Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Hour}
	}
	var pic bytes.Buffer
	musttest.Do(t, png.Encode(&pic, image.NewGray(image.Rect(0, 0, 30, 20))))
	a.picture = pic.String()
	for name, content := range map[string]string{
		"agent.sh": describedAgent, "token": webToken, "pic.png": a.picture,
		"config.json": `{
			"terminal": {"command": "exec sh agent.sh", "protocol": "rich", "format": "auto", "interactive": true},
			"channels": {"web": {"enabled": true, "maxUpload": 1, "push": {"enabled": true, "allow": ["127.0.0.1"]}}, "net": {"allowFrom": ["*"]}},
			"http": {"listen": "` + a.b.listen + `", "hosts": ["bot.example.com"], "token": "file:token"},
			"gateway": {"record": "recorded"},
			"schedules": {
				"past": {"at": "2020-01-01T00:00:00Z", "chat": "web:web-a-known-to-nobody-else", "text": "Happy new year!"},
				"later": {"cron": "0 0 29 2 *", "chat": "web:web-a-known-to-nobody-else", "text": "A leap day!"},
			},
		}`,
	} {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	a.b.start()
	a.ann, a.bob, a.op = &a.b.signIn("--user", "ann").Client, &a.b.signIn("--user", "bob").Client, &a.b.signIn("--role", "operator").Client
	url := "http://" + a.b.listen
	resp := musttest.Get(a.op.Get(url + "/api/openapi.json"))(t)
	defer resp.Body.Close()
	a.apiDescription = newAPIDescription(t, url, resp.Body)
	return a
}

// followEvents opens a stream and holds all that comes against what is described. Then next waits
// for an event that has some words in its data.
func (a *api) followEvents() {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/api/events", nil)
	resp := musttest.Get(a.op.Do(req))(a.t)
	a.seen["get /api/events 200"] = true
	a.checkResponse("the stream", resp, nil, "paths", "/api/events", "get", "responses", "200")
	events, done := make(chan [2]string, 10_000), make(chan struct{})
	go func() {
		defer close(done)
		defer resp.Body.Close()
		var name string
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
			case "event":
				name = value
			case "data":
				events <- [2]string{name, value}
			}
		}
	}()
	a.t.Cleanup(func() { cancel(); <-done })
	var kept [][2]string // what came and was not waited for
	a.next = func(name string, with ...string) []byte {
		a.t.Helper()
		fits := func(e [2]string) bool {
			return e[0] == name && !slices.ContainsFunc(with, func(w string) bool { return !strings.Contains(e[1], w) })
		}
		for timeout := time.After(waitTimeout); ; {
			if i := slices.IndexFunc(kept, fits); i >= 0 {
				e := kept[i]
				kept = slices.Delete(kept, i, i+1)
				return []byte(e[1])
			}
			select {
			case e := <-events:
				a.checkEvent(e[0], []byte(e[1]))
				kept = append(kept, e)
			case <-timeout:
				a.t.Fatalf("no %s with %q came; the log says\n%s", name, with, a.b.log())
			}
		}
	}
}

func TestTheAPIIsAsDescribed(t *testing.T) {
	a := newAPI(t)
	a.checkSignIn()
	a.followEvents()
	a.checkMessages()
	a.checkChats()
	a.checkPush()
	a.checkPosts()
	a.checkTurns()
	a.checkDaemon()
	a.checkCoverage(
		"Said ", "Press ", "Asked ", "ToSend ", "ChatChange ", "Edit ", "PushSubscription ", // are asked, not answered
		"get /api/dev ", "post /api/dev ", "LastTurn ", "SavedTest ", "ReplayCommand ", // of nanobot dev: see TestDevSavesATurnThatReplays
		"/api/push 404", // without channels.web.push
		"event reload",  // for more than a thousand changes at once: see gateway/console
		" 429", " 503",  // there is too much of something, or the disk is broken
		"TurnFacts memory",                     // not known of an agent that has less than we do
		"Ready missed",                         // for somebody who was away for long
		"User username",                        // which only other networks have
		"Health store",                         // again the disk
		"Progress draft",                       // of an agent that shows what it is writing
		"Message details",                      // of a turn with tool steps: see channels/web
		"Button stays",                         // of a protocol with commands of its own
		"TurnFacts member", "Detail elsewhere", // with several members: see gateway
	)
}

// checkSignIn checks that requests without a sign-in are refused.
func (a *api) checkSignIn() {
	a.forEachOperation(func(method, template string, op jsonObject) {
		path := strings.ReplaceAll(template, "{id}", "1")
		if public, ok := op["security"].([]any); ok && len(public) == 0 {
			return
		}
		a.request(401, apiRequest{method: method, path: path, template: template})
		switch {
		case method != http.MethodGet:
			a.request(403, apiRequest{as: a.ann, method: method, path: path, template: template, header: http.Header{"Origin": {"https://evil.example"}}})
		case mapAt(op, "responses")["403"] != nil:
			a.request(403, apiRequest{as: a.ann, method: method, path: path, template: template})
		}
	})
}

const (
	messagesAt = "/api/chats/{id}/messages"
	hereAt     = "/api/chats/web-a-known-to-nobody-else/messages"
	isJSON     = "application/json"
)

// sendMessage posts a text to a chat of its own and returns the ID that it was given.
func (a *api) sendMessage(text string) (id string) {
	a.t.Helper()
	answer := a.request(202, apiRequest{as: a.ann, method: "POST", template: messagesAt, path: "/api/chats/web-" + text + "-known-to-nobody-else/messages", kind: isJSON, body: encodeJSON(jsonObject{"text": text})})
	var receipt struct{ ID string }
	_ = json.Unmarshal(answer, &receipt)
	return receipt.ID
}

// checkMessages makes the operations of a chat return every described answer.
func (a *api) checkMessages() {
	const form = "multipart/form-data; boundary=x"
	post := func(want int, as *http.Client, path, template, kind, body string) []byte {
		a.t.Helper()
		return a.request(want, apiRequest{as: as, method: "POST", path: path, template: template, kind: kind, body: body})
	}
	get := func(want int, as *http.Client, path, template string) []byte {
		a.t.Helper()
		return a.request(want, apiRequest{as: as, method: "GET", path: path, template: template})
	}
	file := func(content string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n" + content + "\r\n--x--\r\n"
	}
	get(200, a.ann, "/api/openapi.json", "")
	get(400, a.ann, "/api/events?after=x", "/api/events")
	post(201, a.ann, "/api/chats", "", isJSON, "{}")
	post(202, a.ann, hereAt, messagesAt, form, file(a.picture))
	a.next("message", `"from":"bot"`)
	post(202, a.ann, hereAt, messagesAt, isJSON, `{"text": "ask", "client_id": "c1"}`)
	post(400, a.ann, hereAt, messagesAt, isJSON, `{}`)
	post(404, a.bob, hereAt, messagesAt, isJSON, `{"text": "x"}`)
	post(413, a.ann, hereAt, messagesAt, form, file(strings.Repeat("x", 1<<20+1)))
	post(415, a.ann, hereAt, messagesAt, "text/plain", "x")

	const press, here = "/api/chats/{id}/press", "/api/chats/web-a-known-to-nobody-else/press"
	var question struct {
		ID      string
		Buttons []struct{ Data string }
	}
	_ = json.Unmarshal(a.next("message", "Which one?"), &question)
	body := encodeJSON(jsonObject{"message": question.ID, "data": question.Buttons[1].Data})
	post(404, a.ann, here, press, isJSON, `{"message": "x", "data": "a"}`)
	post(400, a.ann, here, press, isJSON, `{`)
	post(202, a.ann, here, press, isJSON, body)
	a.next("pressed")
	a.next("closed")
	post(409, a.ann, here, press, isJSON, body)
	a.next("message", `"text":"thanks"`)
	post(202, a.ann, hereAt, messagesAt, isJSON, `{"text": "offer"}`)
	_ = json.Unmarshal(a.next("message", "Shall I?"), &question)
	post(202, a.ann, here, press, isJSON, encodeJSON(jsonObject{"message": question.ID, "data": question.Buttons[0].Data}))
	a.next("message", "re Yes")
	post(202, a.ann, hereAt, messagesAt, isJSON, `{"text": "ask"}`)
	a.next("message", "Which one?")
	post(202, a.ann, hereAt, messagesAt, isJSON, `{"text": "red"}`)
	a.next("closed", "Red")
	a.next("message", `"text":"thanks"`)

	post(202, a.ann, hereAt, messagesAt, isJSON, `{"text": "secret"}`)
	a.next("message", "Password?")
	post(202, a.ann, hereAt, messagesAt, isJSON, `{"text": "hunter2"}`)
	a.next("removed")
	a.next("message", `"text":"thanks"`)

	get(200, a.ann, "/api/chats", "")
	var all struct {
		Messages []struct{ Media []struct{ ID string } }
	}
	_ = json.Unmarshal(get(200, a.ann, hereAt+"?limit=200", messagesAt), &all)
	get(400, a.ann, hereAt+"?limit=x", messagesAt)
	get(404, a.bob, hereAt, messagesAt)
	media := "/api/media/" + all.Messages[0].Media[0].ID
	if got := get(200, a.ann, media, "/api/media/{id}"); string(got) != a.picture {
		a.t.Errorf("the picture has %d bytes", len(got))
	}
	a.request(206, apiRequest{as: a.ann, method: "GET", path: media, template: "/api/media/{id}", header: http.Header{"Range": {"bytes=1-2"}}})
	get(404, a.bob, media, "/api/media/{id}")
	resp := musttest.Get(a.ann.Get(a.url + media))(a.t)
	resp.Body.Close()
	known := http.Header{"If-None-Match": {resp.Header.Get("ETag")}}
	a.request(304, apiRequest{as: a.ann, method: "GET", path: media, template: "/api/media/{id}", header: known})
	musttest.Do(a.t, os.RemoveAll(filepath.Join(filepath.Dir(a.b.cfg), "users")))
	get(410, a.ann, media, "/api/media/{id}")
	get(200, a.ann, hereAt+"?limit=200", messagesAt)
}

// checkPosts makes the operator's messages to all chats return every described answer.
func (a *api) checkPosts() {
	const sendsAt, form = "/api/chats/{id}/sends", "multipart/form-data; boundary=x"
	script := http.Header{"Authorization": {"Bearer " + webToken}}
	post := func(want int, path, template, kind, body string) []byte {
		a.t.Helper()
		return a.request(want, apiRequest{method: "POST", path: path, template: template, kind: kind, body: body, header: script})
	}
	field := func(name, value string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
	}
	file := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"
	for template, path := range map[string]string{messagesAt: "/api/chats/net%3Afull/messages", sendsAt: "/api/chats/net:full/sends"} {
		post(202, path, template, isJSON, `{"text": "hello", "key": "1"}`)
		post(200, path, template, isJSON, `{"text": "hello", "key": "1"}`)
		post(400, path, template, isJSON, `{"text": "", "key": "2"}`)
		post(400, path, template, isJSON, `{"txt": "hello"}`)
		post(404, strings.Replace(path, "net", "irc", 1), template, isJSON, `{"text": "hello"}`)
		post(400, strings.Replace(path, "net", "", 1), template, isJSON, `{"text": "hello"}`)
		post(413, path, template, isJSON, `{"text": "`+strings.Repeat("x", 1<<20+1)+`"}`)
		post(415, path, template, "text/plain", "hello")
	}
	post(422, "/api/chats/net:full/messages", messagesAt, isJSON, `{"text": "hello", "agent": "nobody"}`)
	post(422, "/api/chats/net:full/sends", sendsAt, form, file+"\r\n--x--\r\n")
	post(400, "/api/chats/web:x/sends", sendsAt, isJSON, `{"text": "hello"}`)

	post(202, "/api/chats/web-posted/sends", sendsAt, form, field("text", "look here")+field("silent", "true")+field("buttons", "Yes")+file+"content\r\n--x--\r\n")
	a.next("message", "look here", `"label":"Yes"`, `"name":"a.txt"`)
	post(202, "/api/chats/web:web-posted/messages", messagesAt, form, field("text", "hi")+file+"content\r\n--x--\r\n")
	a.next("message", `"text":"re hi"`)
	a.next("turn", `"web:web-posted"`, `"origin":"ask"`, `"ended"`)
	asked := a.request(200, apiRequest{as: a.op, method: "GET", path: "/api/turns?origin=ask&chat=web:web-posted", template: "/api/turns"})
	if !bytes.Contains(asked, []byte(`"text":"hi"`)) || bytes.Contains(asked, []byte(`"title"`)) {
		a.t.Errorf("the turns of operators are %s", asked)
	}
	if none := a.request(200, apiRequest{as: a.op, method: "GET", path: "/api/turns?origin=hook:ci", template: "/api/turns"}); string(none) != "[]\n" {
		a.t.Errorf("the turns of a hook are %s", none)
	}
	a.request(404, apiRequest{as: a.ann, method: "POST", path: "/api/chats/net:full/messages", template: messagesAt, kind: isJSON, body: `{"text": "x"}`})
	a.request(403, apiRequest{as: a.ann, method: "POST", path: "/api/chats/net:full/sends", template: sendsAt, kind: isJSON, body: `{"text": "x"}`})
}

// checkTurns makes the operations on turns return every described answer.
func (a *api) checkTurns() {
	const list, one = "/api/turns", "/api/turns/{id}"
	script := http.Header{"Authorization": {"Bearer " + webToken}}
	get := func(want int, path, template string) []byte {
		a.t.Helper()
		return a.request(want, apiRequest{method: "GET", path: path, template: template, header: script})
	}
	post := func(want int, id any, what string) {
		a.t.Helper()
		a.request(want, apiRequest{method: "POST", path: fmt.Sprintf("/api/turns/%v/%s", id, what), template: "/api/turns/{id}/" + what, header: script})
	}
	turn := func(message string, with ...string) (id int64) {
		a.t.Helper()
		var t struct{ ID int64 }
		_ = json.Unmarshal(a.next("turn", append(with, `"message":"`+message+`"`)...), &t)
		return t.ID
	}
	slow := a.sendMessage("slow")
	id := turn(slow, `"state":"running"`)
	a.next("progress")
	a.next("typing")
	a.sendMessage("slow")                                         // which waits
	a.next("progress", "Queued", "web-slow-known-to-nobody-else") // another chat may have been told so, too
	get(200, "/api/health", "")
	post(409, id, "retry")
	post(202, id, "stop")
	a.next("gone")
	turn(slow, `"status":"stopped"`)
	post(409, id, "stop")
	musttest.Do(a.t, os.WriteFile(filepath.Join(filepath.Dir(a.b.cfg), "go"), nil, 0o600))
	post(202, id, "retry")
	turn(slow, `"status":"done"`)
	for _, what := range []string{"stop", "retry"} {
		post(400, "x", what)
		post(404, 999, what)
	}
	get(400, "/api/turns/x", one)
	get(404, "/api/turns/999", one)
	for at, want := range map[any]int{"x": 400, 999: 404, id: 200} {
		recorded := get(want, fmt.Sprintf("/api/turns/%v/cassette", at), one+"/cassette")
		if want == 200 && (!bytes.HasPrefix(recorded, []byte(`{"type":"cassette","version":1,`)) || !bytes.Contains(recorded, []byte(`"attempt":2`))) {
			a.t.Errorf("the cassette is %s", recorded)
		}
	}
	get(400, list+"?outcome=bogus", list)
	for text, with := range map[string]string{"picture": `"sent":1`, "crash": `"signal":"SIGSEGV"`, "fail": `"exit_code":4`} {
		get(200, fmt.Sprint("/api/turns/", turn(a.sendMessage(text), with, `"ended"`)), one)
	}
	a.net.UserWrites("full", "7", "hello")
	a.next("turn", `"net:full"`, `"ended"`)
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
		if undelivered := get(200, "/api/undelivered", ""); bytes.Contains(undelivered, []byte(`"not_before"`)) {
			break
		} else if time.Now().After(deadline) {
			a.t.Fatalf("undelivered are %s", undelivered)
		}
	}
	for _, want := range []string{`"name":"past","next":null`, `"outcome":"skipped"`, `"name":"later","next":"2`} {
		if all := get(200, "/api/schedules", ""); !bytes.Contains(all, []byte(want)) {
			a.t.Errorf("the schedules are %s, without %s", all, want)
		}
	}
	for _, by := range []string{"user", "chat", "agent", "model", "day"} {
		if all := get(200, "/api/usage?since=48h&by="+by, "/api/usage"); !bytes.Contains(all, []byte(`"`+by+`":`)) {
			a.t.Errorf("the usage by %s is %s", by, all)
		}
	}
	get(400, "/api/usage?by=year", "/api/usage")
	get(200, list+"?chat=web:web-a-known-to-nobody-else&outcome=done&limit=10", list)
}

// checkDaemon checks the health of the daemon, and signs a browser out.
func (a *api) checkDaemon() {
	for _, path := range []string{"/healthz", "/readyz"} {
		a.request(200, apiRequest{method: "GET", path: path})
	}
	metrics := a.request(200, apiRequest{as: a.op, method: "GET", path: "/metrics"})
	if !bytes.Contains(metrics, []byte(`nanobot_automatic_turns_total{origin="ask",outcome="done"}`)) {
		a.t.Errorf("the metrics are %s", metrics)
	}
	a.net.Close()
	// A channel counts as well whenever it is tried again, until that has failed.
	until := func(what string, so func() bool) {
		a.t.Helper()
		for deadline := time.Now().Add(waitTimeout); !so(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				a.t.Fatalf("never seen: %s", what)
			}
		}
	}
	until("that it is not ready", func() bool {
		status, _ := a.requestOneOf([]int{200, 503}, apiRequest{method: "GET", path: "/readyz"})
		return status == http.StatusServiceUnavailable
	})
	until("bad health", func() bool {
		return bytes.Contains(a.request(200, apiRequest{as: a.op, method: "GET", path: "/api/health"}), []byte(`"ok":false`))
	})
	a.request(204, apiRequest{as: a.bob, method: "POST", path: "/out"})
	a.request(401, apiRequest{as: a.bob, method: "GET", path: "/api/chats"})
}

// TestAllThatIsServedIsDescribed looks for patterns in the sources: a mux does not tell what it
// serves.
func TestAllThatIsServedIsDescribed(t *testing.T) {
	t.Parallel()
	b := musttest.Get(os.ReadFile("../../channels/web/openapi.json"))(t)
	c := newAPIDescription(t, "", bytes.NewReader(b))
	known := []string{"GET /", "GET /api/", "GET /dev/dev.js", "GET /dev/dev.css"} // the page, and what there is not
	c.forEachOperation(func(method, template string, _ jsonObject) { known = append(known, method+" "+template) })
	pattern, found := regexp.MustCompile(`"((?:GET|POST|PUT|PATCH|DELETE) /[^"]*)"`), 0
	for _, folder := range []string{".", "dev", "../../httpd", "../../gateway/console", "../../channels/web"} {
		files, _ := filepath.Glob(folder + "/*.go")
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source := musttest.Get(os.ReadFile(file))(t)
			for _, m := range pattern.FindAllSubmatch(source, -1) {
				if found++; !slices.Contains(known, string(m[1])) {
					t.Errorf("%s serves %s, which is not described", file, m[1])
				}
			}
		}
	}
	if found < len(known) {
		t.Errorf("%d patterns were found, %d are known", found, len(known))
	}
}
