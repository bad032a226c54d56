package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/internal/killtest"
	"nanobot/internal/wanttest"
)

// TestTheWebDaemonKilledAtAnyInstantLosesNothing kills the daemon again and again while people
// write, each message until it is answered with 202, and watch, coming back with the last event
// that they saw. With NANOBOT_LONG=1 there are 100 kills.
func TestTheWebDaemonKilledAtAnyInstantLosesNothing(t *testing.T) {
	t.Parallel()
	kills := killtest.Rounds(t, 6, 100)
	b := newWebBot(t)
	ann := b.signIn()
	s := &webKillTest{b: b, ann: ann, seen: map[string]int{}, last: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	began := make(chan struct{})
	all.Go(func() { ann.followEvents(ctx, func(e webEvent) { s.recordEvent(e, began) }) })
	<-began
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for chat := range 4 {
		writers.Go(func() { s.sendMessages(fmt.Sprintf("web-%d-known-to-nobody-else", chat), stop) })
	}
	for range kills {
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond) // any instant
		b.kill()
		b.program = startProgram(t, "serve", "--config", b.cfg)
		if rand.IntN(3) > 0 { // or else also in the midst of its start
			b.awaitLog("ready")
		}
	}
	close(stop)
	writers.Wait()
	for deadline := time.Now().Add(waitTimeout); s.findMissing() != "" && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	cancel()
	all.Wait()
	s.checkAnswers()
}

// webKillTest has the messages that were sent and the events that were received.
type webKillTest struct {
	b   *webBot
	ann *browser

	mu   sync.Mutex
	said []string
	seen map[string]int // texts, and IDs of messages
	last map[string]int // by chat, the number that was answered last
	once sync.Once
}

func (s *webKillTest) recordEvent(e webEvent, began chan struct{}) {
	s.once.Do(func() { close(began) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.name == "message" {
		text := e.data.Text
		if strings.Contains(text, given) { // it quotes the message, and names /retry if that would run it
			text = given
		}
		s.seen[e.data.From+" "+e.data.Chat+" "+text]++
		s.seen["id "+e.data.ID]++
		n := 0
		if _, err := fmt.Sscanf(e.data.Text, "re **"+e.data.Chat+".%d**", &n); err == nil {
			if n < s.last[e.data.Chat] {
				s.b.t.Errorf("in %s the answer to %d came behind that to %d", e.data.Chat, n, s.last[e.data.Chat])
			}
			s.last[e.data.Chat] = n
		}
	}
}

// sendMessages posts one message after the other, each until the daemon has accepted it.
func (s *webKillTest) sendMessages(chat string, stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		text := fmt.Sprintf("%s.%d", chat, i)
		body, _ := json.Marshal(map[string]string{"text": text, "client_id": text})
		for {
			status, _, err := s.ann.tryRequest("POST", "/api/chats/"+chat+"/messages", "application/json", bytes.NewReader(body))
			if err == nil && status == http.StatusAccepted {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		s.mu.Lock()
		s.said = append(s.said, chat+" "+text)
		s.mu.Unlock()
	}
}

// given is what a chat is told of a message whose turn was cut off three times.
const given = "I was restarted while working on this."

// findMissing returns a message that was neither answered nor given up yet, or "".
func (s *webKillTest) findMissing() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	up := map[string]int{}
	for _, text := range s.said {
		chat, _, _ := strings.Cut(text, " ")
		if s.seen["bot "+answerOf(text)] > 0 {
			continue
		}
		if up[chat]++; up[chat] > s.seen["bot "+chat+" "+given] {
			return text
		}
	}
	return ""
}

func answerOf(said string) string {
	var chat, text string
	_, _ = fmt.Sscan(said, &chat, &text)
	return fmt.Sprintf("%s re **%s**", chat, text)
}

func (s *webKillTest) checkAnswers() {
	t := s.b.t
	wanttest.Equal(t, "was never answered:", s.findMissing(), "")
	unanswered := 0
	for _, text := range s.said {
		asked, answered := s.seen["user "+text], s.seen["bot "+answerOf(text)]
		unanswered += countTrue(answered == 0)
		if asked != 1 || answered > 1 {
			t.Errorf("%s was seen %d times and answered %d times", text, asked, answered)
		}
	}
	for what, n := range s.seen {
		if n > 1 && strings.HasPrefix(what, "id ") {
			t.Errorf("the message with the %s came %d times", what, n)
		}
	}
	checkProof(t, s.b.cfg, len(s.said))
	t.Logf("%d messages, of which %d were cut off three times", len(s.said), unanswered)
}
