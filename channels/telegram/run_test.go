package telegram_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

func TestATokenThatStopsWorkingIsAnError(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext("getUpdates", telegramtest.ErrorResponse(401, "Unauthorized"))
	if err := r.Run(t.Context(), r.Recorder.Receive); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("Run returned %v", err)
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	good := telegram.Options{Token: "1:abc", Folder: channelstest.ChatFolders("")}
	for name, change := range map[string]func(*telegram.Options){
		"token":   func(o *telegram.Options) { o.Token = " " },
		"like":    func(o *telegram.Options) { o.Token = "1:a/../b" },
		"apiBase": func(o *telegram.Options) { o.APIBase = "api.telegram.org" },
		"webhook": func(o *telegram.Options) { o.Mode = "webhook" },
		"mode":    func(o *telegram.Options) { o.Mode = "push" },
		"groups":  func(o *telegram.Options) { o.Groups = "sometimes" },
		"folder":  func(o *telegram.Options) { o.Folder = nil },
	} {
		o := good
		change(&o)
		if _, err := telegram.New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: New returned %v", name, err)
		}
	}
	if _, err := telegram.New(good); err != nil {
		t.Error(err)
	}
}

func TestRunSurvivesNetworkErrors(t *testing.T) {
	for name, fault := range map[string]telegramtest.Fault{
		"a bad gateway": telegramtest.BadGateway(),
		"a cut":         {CutBefore: true},
		"garbage":       {Status: 200, Body: "{"},
		"an error":      telegramtest.ErrorResponse(500, "Internal Server Error"),
		"too many":      telegramtest.RateLimited(1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestChannel(t)
			r.server.FailNext("getMe", fault)
			r.server.FailNext("getUpdates", fault, fault)
			r.server.UserSends(person, "hello")
			r.start()
			if got := r.onlyMessage(); got.Text != "hello" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAConflictIsExplained(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]string{
		"Conflict: terminated by other getUpdates request; make sure that only one bot instance is running": "another program polls",
		"Conflict: can't use getUpdates method while webhook is active":                                     "removed the webhook",
	} {
		r := newTestChannel(t)
		r.server.FailNext("getUpdates", telegramtest.ErrorResponse(409, description))
		r.server.UserSends(person, "hello")
		r.start()
		r.WaitForMessages(1)
		if log := r.LogText(); !strings.Contains(log, want) {
			t.Errorf("the log does not contain %q: %s", want, log)
		}
	}
}

func TestAStalledPollIsCutAndMadeAgain(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t, func(o *telegram.Options) {
		o.Timing.Poll, o.Timing.Margin = time.Second, 100*time.Millisecond
	})
	never := make(chan struct{})
	defer close(never)
	r.server.FailNext("getUpdates", telegramtest.Fault{HangUntil: never})
	r.server.UserSends(person, "hello")
	r.start()
	r.WaitForMessages(1)
	if log := r.LogText(); !strings.Contains(log, "no response in time") {
		t.Errorf("the log does not tell: %s", log)
	}
}

func TestRunEndsWhileThePollIsOpen(t *testing.T) {
	r := newTestChannel(t)
	stop := r.start()
	r.server.WaitForCalls(r.t, "getUpdates", func(c []telegramtest.Call) bool { return len(c) == 1 })
	stop()
}

func TestTheTokenIsInNoErrorAndNoLog(t *testing.T) {
	seen := make(chan struct{}, 100)
	r := newTestChannel(t, func(o *telegram.Options) {
		o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			seen <- struct{}{}
			return nil, errors.New("cannot reach " + req.URL.String())
		})
	})
	r.MustFailSend(t.Context(), r.PlanText("hello"))
	for _, err := range []error{
		r.Edit(t.Context(), "1", r.PlanText("hello")), r.Remove(t.Context(), chatOf("42"), "1"), r.Typing(t.Context(), chatOf("42")),
	} {
		if err == nil || strings.Contains(err.Error(), r.server.Token) {
			t.Errorf("the error is %v", err)
		}
	}
	for len(seen) > 0 {
		<-seen
	}
	r.start()
	<-seen
	<-seen // the first was logged
	if log := r.LogText(); !strings.Contains(log, "cannot reach http") || strings.Contains(log, r.server.Token) {
		t.Errorf("the log is %s", log)
	}
}
