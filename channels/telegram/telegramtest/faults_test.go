package telegramtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

var hello = params{"chat_id": person, "text": "hello"}

// sendHello sends a message and returns the raw response.
func sendHello(t *testing.T, s *telegramtest.Server) (int, string, error) {
	t.Helper()
	status, body, err := postBody(t, s, "sendMessage", "application/json", strings.NewReader(`{"chat_id":42,"text":"hello"}`))
	return status, string(body), err
}

func TestFaultsHappenOnceAndInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		fault  telegramtest.Fault
		status int // 0: the connection is cut
		body   string
		shown  int
	}{
		"429":        {telegramtest.RateLimited(7), 429, `"retry_after":7`, 0},
		"502":        {telegramtest.BadGateway(), 502, "<html>", 0},
		"refusal":    {telegramtest.ErrorResponse(400, "Bad Request: can't parse entities"), 400, "can't parse entities", 0},
		"garbage":    {telegramtest.TruncatedJSON(), 200, `{"ok":true,"result":{"message_id":`, 1},
		"cut before": {telegramtest.Fault{CutBefore: true}, 0, "", 0},
		"cut after":  {telegramtest.Fault{CutAfter: true}, 0, "", 1},
		"slow":       {telegramtest.Fault{ResponseDelay: 10 * time.Millisecond}, 200, `"ok":true`, 1},
		"none":       {telegramtest.Fault{}, 200, `"ok":true`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := telegramtest.New(t)
			s.AddUser(telegramtest.User{ID: person})
			s.FailNext("getMe", telegramtest.BadGateway())
			s.FailNext("sendMessage", c.fault)
			status, body, err := sendHello(t, s)
			if (err != nil) != (c.status == 0) || status != c.status || !strings.Contains(body, c.body) {
				t.Errorf("got %d %q %v", status, body, err)
			}
			wanttest.Equal(t, "messages are shown:", len(s.BotMessages(person)), c.shown)
			mustCall(t, s, "sendMessage", hello)
			if calls := s.Calls("sendMessage"); len(calls) != 2 || calls[0].Status != c.status || calls[1].Status != 200 {
				t.Errorf("calls %+v", calls)
			}
		})
	}
}

func TestAHungCallWaitsUntilItIsReleased(t *testing.T) {
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person})
	release := make(chan struct{})
	s.SetFault(func(c telegramtest.Call) telegramtest.Fault {
		if c.Params["text"] == "hello" {
			return telegramtest.Fault{HangUntil: release}
		}
		return telegramtest.Fault{}
	})
	hung := inBackground(func() reply { return callJSON(t, s, "sendMessage", hello) })
	s.AwaitCalls("sendMessage", telegramtest.WaitLimit, func(all []telegramtest.Call) bool { return len(all) == 1 })
	mustCall(t, s, "sendMessage", params{"chat_id": person, "text": "overtakes"})
	if shown := s.BotMessages(person); len(shown) != 1 || shown[0].Text != "overtakes" {
		t.Errorf("shown %+v", shown)
	}
	close(release)
	if r := <-hung; !r.OK || len(s.BotMessages(person)) != 2 {
		t.Errorf("after the release: %+v", r)
	}
}

func TestADownloadCanBreakOffHalfway(t *testing.T) {
	s := telegramtest.New(t)
	m := s.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: "voice", Content: []byte("0123456789")}})
	f, _ := s.File(m.Voice.FileID)
	s.FailNext(telegramtest.Download, telegramtest.Fault{CutAfter: true}, telegramtest.BadGateway())
	for i, want := range []string{"01234", "<html>", "0123456789"} {
		resp := musttest.Get(client(t).Get(s.URL + "/file/bot" + s.Token + "/" + f.Path))(t)
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if !strings.HasPrefix(string(body), want) || (err != nil) != (i == 0) {
			t.Errorf("download %d: %q %v", i, body, err)
		}
	}
}

func TestFloodControlAnswersWithTheTimeToWait(t *testing.T) {
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person})
	s.AddUser(telegramtest.User{ID: 43})
	s.AddChat(telegramtest.Chat{ID: group})
	for range 50 {
		mustCall(t, s, "sendMessage", hello)
	}
	s.SetFloodControl(telegramtest.FloodLimits{Every: time.Minute, Burst: 2})
	sent := mustCall(t, s, "sendMessage", hello).message(t)
	mustCall(t, s, "sendMessage", hello)
	r := callJSON(t, s, "sendMessage", hello)
	expectError(t, r, 429, "Too Many Requests: retry after 60")
	wanttest.Equal(t, "retry_after is", r.Parameters.RetryAfter, 60)
	expectError(t, callJSON(t, s, "editMessageText", params{"chat_id": person, "message_id": sent.ID, "text": "x"}), 429, "retry after")
	mustCall(t, s, "sendChatAction", params{"chat_id": person, "action": "typing"})
	mustCall(t, s, "sendMessage", params{"chat_id": 43, "text": "another chat"})

	s.SetFloodControl(telegramtest.FloodLimits{PerMinute: 20})
	for range 20 {
		mustCall(t, s, "sendMessage", params{"chat_id": group, "text": "hello"})
	}
	expectError(t, callJSON(t, s, "sendMessage", params{"chat_id": group, "text": "hello"}), 429, "retry after 60")
	mustCall(t, s, "sendMessage", hello)

	s.SetFloodControl(telegramtest.FloodLimits{GlobalPerSecond: 1})
	mustCall(t, s, "sendMessage", hello)
	expectError(t, callJSON(t, s, "sendMessage", params{"chat_id": 43, "text": "hello"}), 429, "retry after 1")
}

func TestAfterRetryAfterASendSucceeds(t *testing.T) {
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person})
	s.SetFloodControl(telegramtest.FloodLimits{Every: 3 * time.Hour, Burst: 1})
	mustCall(t, s, "sendMessage", hello)
	s.AdvanceClock(2 * time.Hour)
	expectError(t, callJSON(t, s, "sendMessage", hello), 429, "retry after 3")
	s.AdvanceClock(time.Hour)
	mustCall(t, s, "sendMessage", hello)
}

func TestAwaitDisconnectedWaitsForTheCallsOfADeadBot(t *testing.T) {
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person})
	s.FailNext("sendMessage", telegramtest.Fault{ResponseDelay: time.Hour})
	ctx, die := context.WithCancel(t.Context())
	bot := client(t)
	asked := inBackground(func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/bot"+s.Token+"/sendMessage", strings.NewReader(`{"chat_id":42,"text":"hello"}`))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := bot.Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	})
	s.WaitForCount(t, person, 1)
	if s.AwaitDisconnected(time.Millisecond) {
		t.Error("the bot is connected and counts as gone")
	}
	die()
	if err := <-asked; err == nil {
		t.Error("the call was answered")
	}
	bot.CloseIdleConnections()
	if !s.AwaitDisconnected(telegramtest.WaitLimit) {
		t.Error("the bot is gone and counts as connected")
	}
	if calls := s.Calls("sendMessage"); len(calls) != 1 || !calls[0].Done {
		t.Errorf("calls %+v", calls)
	}
}
