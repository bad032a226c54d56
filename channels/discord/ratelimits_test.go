package discord_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// planTextTo plans a short text to a chat.
func (r *testChannel) planTextTo(chat, text string) channels.Outgoing {
	r.t.Helper()
	return r.MustPlan(channels.Message{Chat: chatOf(chat), Kind: channels.Answer, Text: text})[0]
}

// addDMChats adds n DM channels.
func (r *testChannel) addDMChats(n int) []string {
	var out []string
	for i := range n {
		out = append(out, r.server.DM(strconv.Itoa(6_000_000_000_000_000+i)).ID)
	}
	return out
}

func TestTheLimitOfABucketIsRespected(t *testing.T) {
	r := newTestChannel(t)
	r.server.SetLimit(discordtest.CreateMessage, 3, 200*time.Millisecond)
	var work errgroup.Group
	for i, chat := range r.addDMChats(4) {
		for j := range 3 {
			work.Go(func() error {
				for k := range 3 {
					if _, err := r.Send(t.Context(), r.planTextTo(chat, fmt.Sprint(i, j, k))); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	musttest.Do(t, work.Wait())
	wanttest.Equal(t, "calls came too early:", r.server.InvalidRequests(), 0)
	wanttest.Equal(t, "messages are shown:", len(r.server.BotMessages("")), 36)
}

func TestALateResponseDoesNotEndTheNextWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		var calls []time.Duration
		answers := []struct{ left, resetAfter, late string }{ // two calls a second are allowed
			{"1", "1", "0s"}, {"0", "0.01", "100ms"}, {"1", "1", "0s"}, {"1", "1", "0s"},
		}
		ch := musttest.Get(discord.New(discord.Options{
			Token: discordtest.DefaultToken, APIBase: "http://discord.invalid", Log: zap.NewNop(), Unpaced: true,
			Folder: channelstest.ChatFolders(t.TempDir(), "media"),
			Client: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				mu.Lock()
				answer := answers[len(calls)]
				calls = append(calls, time.Since(began))
				mu.Unlock()
				h := http.Header{}
				h.Set("X-RateLimit-Limit", "2")
				h.Set("X-RateLimit-Remaining", answer.left)
				h.Set("X-RateLimit-Reset-After", answer.resetAfter)
				time.Sleep(musttest.Get(time.ParseDuration(answer.late))(t))
				body := io.NopCloser(strings.NewReader(`{"id": "1", "channel_id": "2"}`))
				return &http.Response{StatusCode: http.StatusOK, Header: h, Body: body}, nil
			})},
		}))(t)
		send := func() {
			_, err := ch.Send(t.Context(), channels.Outgoing{Chat: chatOf("2"), Kind: channels.Answer, Text: "hello"})
			musttest.Do(t, err)
		}
		send()
		time.Sleep(990 * time.Millisecond)
		go send() // its response comes in the next window
		time.Sleep(10 * time.Millisecond)
		send()
		time.Sleep(100 * time.Millisecond)
		send()
		mu.Lock()
		defer mu.Unlock()
		wanttest.EqualSlices(t, "calls", calls, []time.Duration{0, 990 * time.Millisecond, time.Second, 2 * time.Second})
	})
}

func TestAChatThatMustWaitHoldsUpNoOther(t *testing.T) {
	r := newTestChannel(t)
	chats := r.addDMChats(2)
	// On a busy machine the other chat may be slower than a short wait, so the test repeats with
	// longer waits.
	tries := 0
	for wait := time.Second; ; wait *= 2 {
		tries++
		began := time.Now() // before the refusal, so that a pause of this test shortens nothing
		r.server.FailNext(discordtest.CreateMessage, discordtest.RateLimited(wait))
		if got := r.MustFailSend(t.Context(), r.planTextTo(chats[0], fmt.Sprint("one ", tries))); got.After < wait*9/10 || got.Permanent {
			t.Errorf("it means %+v", got)
		}
		first := make(chan time.Time, 1)
		go func() {
			_, err := r.Send(context.Background(), r.planTextTo(chats[0], fmt.Sprint("again ", tries)))
			if err != nil {
				t.Error(err)
			}
			first <- time.Now()
		}()
		var other time.Time
		for i := range 10 {
			musttest.Get(r.Send(t.Context(), r.planTextTo(chats[1], fmt.Sprint(tries, " ", i))))(t)
			if i == 1 { // by then the first one waits
				other = time.Now()
			}
		}
		at := <-first
		if at.Sub(began) < wait {
			t.Errorf("the chat that had to wait for %s was served after %s", wait, at.Sub(began))
		}
		if other.Before(at) {
			break
		}
		if wait == 4*time.Second { // Send returns longer waits as an error
			t.Fatalf("the chat that had to wait was served after %s, the other after %s", at.Sub(began), other.Sub(began))
		}
	}
	wanttest.Equal(t, "calls were refused:", r.server.InvalidRequests(), tries)
}

func TestTheGlobalLimitHoldsForAllButInteractions(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	r.server.WaitForCalls(r.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	chats := r.addDMChats(2)
	r.server.FailNext(discordtest.CreateMessage, discordtest.GloballyRateLimited(time.Hour))
	r.MustFailSend(t.Context(), r.planTextTo(chats[0], "one"))
	if got := r.MustFailSend(t.Context(), r.planTextTo(chats[1], "two")); got.After < 50*time.Minute {
		t.Errorf("it means %+v", got)
	}
	if err := r.Typing(t.Context(), chatOf(chats[1])); err != nil {
		t.Error(err)
	}
	i := r.runCommand(r.dm, ada, "ask", map[string]any{"text": "hello"})
	r.server.AwaitInteraction(t, i.ID)
	if n := len(r.createCalls()); n != 1 || r.server.TypingCount(chats[1]) != 0 {
		t.Errorf("%d messages were tried", n)
	}
}

func TestAWaitingSendCanBeCancelled(t *testing.T) {
	r := newTestChannel(t)
	r.server.SetLimit(discordtest.CreateMessage, 1, 30*time.Second)
	musttest.Get(r.Send(t.Context(), r.PlanText("one")))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := r.MustFailSend(ctx, r.PlanText("two")); got.Unknown || got.Permanent {
		t.Errorf("it means %+v", got)
	}
	if n := len(r.createCalls()); n != 1 { // had it waited to the end, it would have been made
		t.Errorf("%d calls were made", n)
	}
}

func TestALongWaitIsReturnedAsAnError(t *testing.T) {
	r := newTestChannel(t)
	r.server.SetLimit(discordtest.CreateMessage, 1, time.Hour)
	musttest.Get(r.Send(t.Context(), r.PlanText("one")))(t)
	if got := r.MustFailSend(t.Context(), r.PlanText("two")); got.After < 50*time.Minute || got.Unknown {
		t.Errorf("it means %+v", got)
	}
}

func TestInAllThereAreNoMoreCallsThanDiscordAllows(t *testing.T) {
	r := newTestChannel(t, func(o *discord.Options) { o.Unpaced = false })
	r.server.SetGlobalLimit(50, time.Second)
	var work errgroup.Group
	for _, chat := range r.addDMChats(10) {
		work.Go(func() error {
			for i := range 11 {
				if _, err := r.Send(t.Context(), r.planTextTo(chat, fmt.Sprint(i))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	musttest.Do(t, work.Wait())
	wanttest.Equal(t, "calls came too early:", r.server.InvalidRequests(), 0)
}

// An address from which too many calls are refused is barred.
func TestRefusedCallsAreBudgeted(t *testing.T) {
	asked := 0
	r := newTestChannel(t, func(o *discord.Options) {
		o.Client.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			no := `{"message": "Missing Permissions", "code": 50013}`
			return &http.Response{StatusCode: http.StatusForbidden, Body: io.NopCloser(strings.NewReader(no))}, nil
		})
	})
	o := r.PlanText("hello")
	for asked < 6000 {
		got := r.MustFailSend(t.Context(), o)
		if got.Permanent {
			continue
		}
		if got.After == 0 || !strings.Contains(got.Error(), "refused recently") {
			t.Errorf("it means %+v", got)
		}
		break
	}
	wanttest.Equal(t, "calls were refused before it was noticed:", asked, 5000)
}

func TestATokenThatStopsWorkingIsNotTriedOverAndOver(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext("", discordtest.ErrorResponse(401, 0, "401: Unauthorized"))
	for range 5 {
		if got := r.MustFailSend(t.Context(), r.PlanText("hello")); got.Permanent || got.Unknown {
			t.Errorf("it means %+v", got)
		}
	}
	wanttest.Equal(t, "it was asked … times:", len(r.createCalls()), 1)
}

func TestTheTokenIsInNoErrorAndNoLog(t *testing.T) {
	r := newTestChannel(t, func(o *discord.Options) {
		o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("cannot reach %s with %s", req.URL, req.Header.Get("Authorization"))
		})
	})
	r.MustFailSend(t.Context(), r.PlanText("hello"))
	for _, err := range []error{
		r.Edit(t.Context(), "1", r.PlanText("hello")), r.Remove(t.Context(), chatOf(r.dm), "1"), r.Typing(t.Context(), chatOf(r.dm)),
	} {
		if err == nil || strings.Contains(err.Error(), r.server.Token) {
			t.Errorf("the error is %v", err)
		}
	}
	r.start()
	r.WaitForLog("no connection, will retry") // the test channel looks for the token in the log
}
