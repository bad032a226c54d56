package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// soakPage is somebody who writes by the API and looks at the chat now and then, as long as the
// daemon is there.
type soakPage struct {
	s      *soak
	chat   string
	seen   map[string]soakShown
	looked time.Time
	said   int
}

const soakToken = "0123456789-of-the-soak"

func (s *soak) addPages() {
	for i := range 4 {
		p := &soakPage{s: s, chat: "web-" + strconv.Itoa(i), seen: map[string]soakShown{}}
		s.chats = append(s.chats, &soakChat{name: "web:" + p.chat, say: p.sendMessage, shown: p.shown, once: true})
	}
}

// callAPI makes a request and decodes the answer.
func (p *soakPage) callAPI(method string, body []byte, answer any) error {
	path := "http://" + p.s.listen + "/api/chats/" + p.chat + "/messages"
	req, err := http.NewRequestWithContext(p.s.t.Context(), method, path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+soakToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("answered %s", resp.Status)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(all, answer)
}

// sendMessage posts a text, with the same client ID, until the daemon has accepted it.
func (p *soakPage) sendMessage(text string) string {
	p.said++
	body, _ := json.Marshal(map[string]string{"text": text, "client_id": strconv.Itoa(p.said)})
	for deadline := time.Now().Add(soakTimeout); ; time.Sleep(50 * time.Millisecond) {
		var taken struct{ ID string }
		err := p.callAPI(http.MethodPost, body, &taken)
		if err == nil {
			return taken.ID
		}
		if time.Now().After(deadline) {
			p.s.stuck.Store(true)
			p.s.t.Errorf("%s: nothing can be said: %v", p.chat, err)
			return ""
		}
	}
}

// shown is what the page has seen so far.
func (p *soakPage) shown() []soakShown {
	if time.Since(p.looked) > 300*time.Millisecond {
		p.looked = time.Now()
		var list struct {
			Messages []struct {
				Seq            int
				ID, From, Text string
				Reply          string `json:"reply_to"`
				Media          []json.RawMessage
				Time           time.Time
			}
		}
		if err := p.callAPI(http.MethodGet, nil, &list); err != nil {
			return p.sorted() // it is dead at the moment
		}
		for _, m := range list.Messages {
			if m.From == "bot" {
				if quote, rest, found := strings.Cut(m.Text, "\n\n"); found && strings.HasPrefix(quote, "> ") {
					m.Text = rest // a report quotes what it is about
				}
				p.seen[m.ID] = soakShown{text: m.Text, reply: m.Reply, call: m.Seq, files: len(m.Media), at: m.Time}
			}
		}
	}
	return p.sorted()
}

func (p *soakPage) sorted() []soakShown {
	return slices.SortedFunc(maps.Values(p.seen), func(a, b soakShown) int { return cmp.Compare(a.call, b.call) })
}
