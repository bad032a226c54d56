package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
)

// script is a program that uses the API with the token.
type script struct {
	t   *testing.T
	url string
	http.Client
	hangUp func() // ends the stream
	lines  *bufio.Scanner
	seen   string // the ID of the last event
}

// turnInfo is what a script needs to know of a turn.
type turnInfo struct {
	ID             int64
	Message, State string
	Ended          time.Time
	Sends          map[string]int
	Parts          []struct{ Message, Text, State string }
}

func (s *script) request(ctx context.Context, method, path, body string) *http.Response {
	s.t.Helper()
	req := musttest.Get(http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body)))(s.t)
	req.Header.Set("Authorization", "Bearer "+webToken)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.seen != "" && path == "/api/events" {
		req.Header.Set("Last-Event-ID", s.seen)
	}
	resp := musttest.Get(s.Do(req))(s.t)
	return resp
}

// callAPI makes a request and decodes the answer.
func (s *script) callAPI(method, path, body string, into any) {
	s.t.Helper()
	resp := s.request(s.t.Context(), method, path, body)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		s.t.Fatalf("%s %s: %d %s, %v", method, path, resp.StatusCode, answer, err)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		s.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
}

// followEvents opens the stream, behind the last event that was seen, and waits for its first
// event.
func (s *script) followEvents() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	resp := s.request(ctx, http.MethodGet, "/api/events", "")
	s.hangUp = func() { cancel(); resp.Body.Close() }
	s.t.Cleanup(s.hangUp)
	s.lines = bufio.NewScanner(resp.Body)
	if name, _ := s.nextEvent(); name != "ready" {
		s.t.Fatalf("the stream begins with %q", name)
	}
}

// nextEvent returns the next event.
func (s *script) nextEvent() (name, data string) {
	s.t.Helper()
	for s.lines.Scan() {
		switch field, value, _ := strings.Cut(s.lines.Text(), ": "); field {
		case "event":
			name = value
		case "id":
			s.seen = value
		case "data":
			return name, value
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
	return "", ""
}

// followTurn waits for an event in which the turn of a message fulfils a condition.
func (s *script) followTurn(message string, until func(turnInfo) bool) turnInfo {
	s.t.Helper()
	for {
		name, data := s.nextEvent()
		var t turnInfo
		if name != "turn" {
			continue
		}
		musttest.Do(s.t, json.Unmarshal([]byte(data), &t))
		if t.Message == message && until(t) {
			return t
		}
	}
}

// findTurn returns the turn of a message from the list of the chat's turns.
func (s *script) findTurn(chat, message string) (found turnInfo) {
	s.t.Helper()
	var turns []turnInfo
	s.callAPI("GET", "/api/turns?chat=web:"+chat, "", &turns)
	for _, t := range turns {
		if t.Message == message {
			found = t
		}
	}
	return found
}

func (s *script) sendMessage(chat, text string) (id string) {
	s.t.Helper()
	var receipt struct{ ID string }
	s.callAPI("POST", "/api/chats/"+chat+"/messages", `{"text": "`+text+`"}`, &receipt)
	return receipt.ID
}

func newScript(t *testing.T) (*script, *webBot) {
	t.Helper()
	b := newWebBot(t)
	s := &script{t: t, url: "http://" + b.listen, Client: http.Client{Transport: &http.Transport{}}}
	t.Cleanup(s.CloseIdleConnections)
	return s, b
}

func TestAScriptPostsAMessageAndReadsItsAnswer(t *testing.T) {
	t.Parallel()
	s, _ := newScript(t)
	var chat struct{ ID string }
	s.callAPI("POST", "/api/chats", "{}", &chat)
	s.followEvents()
	s.sendMessage(chat.ID, "something else")
	message := s.sendMessage(chat.ID, "hello")
	turn := s.followTurn(message, func(t turnInfo) bool { return !t.Ended.IsZero() && t.Sends["sent"] == 1 })
	if found := s.findTurn(chat.ID, message); found.ID != turn.ID {
		t.Errorf("in the list it is %+v, it was told %+v", found, turn)
	}
	var detail turnInfo
	s.callAPI("GET", "/api/turns/"+encodeJSON(turn.ID), "", &detail)
	if len(detail.Parts) != 1 || detail.Parts[0].Text != "re **hello**" || detail.Message != message {
		t.Fatalf("the turn is %+v", detail)
	}
	var said struct {
		Messages []struct{ ID, From, Text string }
	}
	s.callAPI("GET", "/api/chats/"+chat.ID+"/messages", "", &said)
	if last := said.Messages[len(said.Messages)-1]; last.ID != detail.Parts[0].Message || last.From != "bot" || last.Text != "re **hello**" {
		t.Errorf("the answer is %+v, the chat has %+v", detail.Parts[0], said)
	}
}

func TestAScriptThatReconnectsFindsItsTurn(t *testing.T) {
	t.Parallel()
	s, b := newScript(t)
	s.followEvents()
	message := s.sendMessage("web-a", "slow")
	s.followTurn(message, func(t turnInfo) bool { return t.State == "running" })
	s.hangUp()
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "go"), nil, 0o600))
	b.awaitLog("turn ended")
	s.followEvents()
	found := s.findTurn("web-a", message)
	if found.Ended.IsZero() { // what the log says may not be on disk yet; then it is still to be told
		found = s.followTurn(message, func(t turnInfo) bool { return !t.Ended.IsZero() })
	}
	var detail turnInfo
	s.callAPI("GET", "/api/turns/"+encodeJSON(found.ID), "", &detail)
	if len(detail.Parts) != 1 || detail.Parts[0].Text != "done" {
		t.Errorf("the turn is %+v", detail)
	}
}
