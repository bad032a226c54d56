package telegram_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// examineChannel asks a bot that does not run about itself, and returns what was found by check.
func examineChannel(t *testing.T, s *telegramtest.Server, e channels.ExamineOptions, change ...func(*telegram.Options)) map[string]channels.Finding {
	t.Helper()
	o := telegram.Options{Token: s.Token, APIBase: s.URL, Folder: channelstest.ChatFolders(t.TempDir()), Client: &http.Client{Transport: newRoutes(t)}}
	for _, c := range change {
		c(&o)
	}
	c := musttest.Get(telegram.New(o))(t)
	return channelstest.FindingsByCheck(t, c.Examine(t.Context(), e), o.Token)
}

// expectFinding fails unless a check had a verdict and its detail says something.
func expectFinding(t *testing.T, found map[string]channels.Finding, check string, status channels.Verdict, words string) {
	t.Helper()
	channelstest.ExpectFinding(t, found, channels.Finding{Check: check, Status: status, Detail: words})
}

func TestExamineOfAWorkingBotChangesNothing(t *testing.T) {
	s := telegramtest.New(t)
	found := examineChannel(t, s, channels.ExamineOptions{})
	expectFinding(t, found, "telegram.token", channels.Good, "@"+telegramtest.DefaultUsername)
	expectFinding(t, found, "telegram.privacy", channels.Good, "mention")
	expectFinding(t, found, "telegram.webhook", channels.Good, "none")
	expectFinding(t, found, "telegram.poller", channels.Good, "nobody else")
	expectFinding(t, found, "telegram.clock", channels.Good, "agrees")
	s.AddUser(telegramtest.User{ID: person, FirstName: "Ada"})
	s.UserSends(person, "waits")
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{Listen: time.Minute}), "telegram.poller", channels.Good, "messages wait")
	wanttest.Equal(t, "messages wait for the daemon, of one:", s.PendingUpdates(), 1)
}

func TestExamineReportsWhyTheNetworkIsUnreachable(t *testing.T) {
	for name, c := range map[string]struct {
		fault telegramtest.Fault
		words string
		fix   string
	}{
		"a proxy's page":  {telegramtest.BadGateway(), "502", "apiBase"},
		"a cut":           {telegramtest.Fault{CutBefore: true}, "getMe", "network"},
		"half an answer":  {telegramtest.TruncatedJSON(), "not from the Bot API", "apiBase"},
		"too many calls":  {telegramtest.RateLimited(30), "retry after 30", "wait"},
		"an error of its": {telegramtest.ErrorResponse(500, "Internal Server Error"), "500", "try again"},
	} {
		t.Run(name, func(t *testing.T) {
			s := telegramtest.New(t)
			s.FailNext("getMe", c.fault)
			found := examineChannel(t, s, channels.ExamineOptions{})
			expectFinding(t, found, "telegram.token", channels.Bad, c.words)
			if !strings.Contains(found["telegram.token"].Fix, c.fix) {
				t.Errorf("the fix is %q", found["telegram.token"].Fix)
			}
		})
	}
}

func TestExamineLooksAtPrivacyModeWhenAllMessagesAreWanted(t *testing.T) {
	s := telegramtest.New(t)
	all := func(o *telegram.Options) { o.Groups = "all" }
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{Running: true}, all), "telegram.privacy", channels.Good, "off")
	s.SetPrivacyMode(true)
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{Running: true}, all), "telegram.privacy", channels.Doubtful, "privacy mode")
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{Running: true}), "telegram.privacy", channels.Good, "no difference")
}

// setWebhookURL sets a webhook as another program would.
func setWebhookURL(t *testing.T, s *telegramtest.Server, to string) {
	t.Helper()
	resp, err := http.PostForm(s.URL+"/bot"+s.Token+"/setWebhook", url.Values{"url": {to}, "secret_token": {"s"}})
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("setWebhook: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
}

func TestExamineFindsALeftOverWebhook(t *testing.T) {
	s := telegramtest.New(t)
	setWebhookURL(t, s, "https://old.example.com/secret-path/"+s.Token)
	found := examineChannel(t, s, channels.ExamineOptions{})
	if strings.Contains(found["telegram.webhook"].Detail, "secret-path") {
		t.Errorf("another program's secret is shown: %+v", found["telegram.webhook"])
	}
	expectFinding(t, found, "telegram.webhook", channels.Doubtful, "old.example.com")
	if _, polled := found["telegram.poller"]; polled {
		t.Error("it polls although a webhook is set")
	}
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{Running: true}), "telegram.webhook", channels.Bad, "another program has set a webhook")
}

func TestExamineInWebhookMode(t *testing.T) {
	s := telegramtest.New(t)
	down := httptest.NewServer(http.NotFoundHandler())
	defer down.Close()
	mode := func(o *telegram.Options) {
		o.Mode, o.WebhookURL = "webhook", down.URL+"/telegram"
	}
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{}, mode), "telegram.webhook", channels.Good, "the start sets it")
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{Running: true}, mode), "telegram.webhook", channels.Bad, "removed or replaced")
	setWebhookURL(t, s, "https://other.example.com/x")
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{}, mode), "telegram.webhook", channels.Doubtful, "other.example.com")
	setWebhookURL(t, s, down.URL+"/telegram")
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{Running: true}, mode), "telegram.webhook", channels.Good, "0 waiting")
	s.AddUser(telegramtest.User{ID: person, FirstName: "Ada"})
	s.UserSends(person, "cannot be delivered")
	if _, ok := s.AwaitDeliveries(waitLimit, func(all []telegramtest.Delivery) bool { return len(all) > 1 }); !ok {
		t.Fatal("nothing was delivered")
	}
	expectFinding(t, examineChannel(t, s, channels.ExamineOptions{Running: true}, mode), "telegram.webhook", channels.Bad, "cannot deliver")
}

func TestExamineFindsASecondPoller(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	r := newTestChannelOn(t, s, newBotState(t)) // another program with the same token
	r.start()
	s.AwaitPoll(t)
	found := examineChannel(t, s, channels.ExamineOptions{Listen: 20 * time.Second})
	expectFinding(t, found, "telegram.poller", channels.Bad, "another program polls")
}

func TestExamineDoesNotPollWhileOurDaemonRuns(t *testing.T) {
	s := telegramtest.New(t)
	found := examineChannel(t, s, channels.ExamineOptions{Running: true})
	expectFinding(t, found, "telegram.poller", channels.Good, "was not tried")
	if calls := s.Calls("getUpdates"); len(calls) > 0 {
		t.Errorf("it polled: %+v", calls)
	}
}
