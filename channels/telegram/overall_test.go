package telegram_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// manyPeople are people who write to a bot in private chats, in synthetic time. Their network takes
// 10 to 60 ms in each direction.
type manyPeople struct {
	t      *testing.T
	server *telegramtest.Server
	ch     *telegram.Channel
}

func withPeople(t *testing.T, people int, f func(*manyPeople)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, client := telegramtest.NewInMemory(t)
		server.SetFloodControl(telegramtest.TelegramFloodLimits)
		for i := range people {
			server.AddUser(telegramtest.User{ID: int64(1000 + i), FirstName: "Ada"})
			server.UserSends(int64(1000+i), "hello")
		}
		var mu sync.Mutex
		r, direct := rand.New(rand.NewPCG(1, 2)), client.Transport
		travel := func() {
			mu.Lock()
			d := 10*time.Millisecond + time.Duration(r.Int64N(int64(50*time.Millisecond)))
			mu.Unlock()
			time.Sleep(d)
		}
		client.Transport = roundTripFunc(func(req *http.Request) (*http.Response, error) {
			travel()
			defer travel()
			return direct.RoundTrip(req)
		})
		f(&manyPeople{t, server, musttest.Get(telegram.New(telegram.Options{
			Token: server.Token, APIBase: server.URL, Client: client, Folder: channelstest.ChatFolders(t.TempDir()),
		}))(t)})
	})
}

// answer sends an answer to a person, again if it is refused. It returns how long it took until
// Telegram had it.
func (c *manyPeople) answer(i int) time.Duration {
	began := time.Now()
	for {
		_, err := c.ch.Send(c.t.Context(), channels.Outgoing{Chat: chatOf(itoa(1000 + i)), Text: "an answer"})
		var se *channels.SendError
		if errors.As(err, &se) && se.After > 0 {
			time.Sleep(se.After)
			continue
		}
		if err != nil {
			c.t.Error(err)
		}
		return time.Since(began)
	}
}

// answerAll answers so many people at once, and returns how long each answer took.
func (c *manyPeople) answerAll(from, n int) []time.Duration {
	took := make([]time.Duration, n)
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() { took[i] = c.answer(from + i) })
	}
	work.Wait()
	return took
}

// answerFor answers all people over and over, each every five seconds.
func (c *manyPeople) answerFor(d time.Duration, people int) {
	var work sync.WaitGroup
	end := time.Now().Add(d)
	for i := range people {
		work.Go(func() {
			for time.Now().Before(end) {
				c.answer(i)
				time.Sleep(5 * time.Second)
			}
		})
	}
	work.Wait()
}

// arrivals returns when calls with this status arrived, since a time.
func (c *manyPeople) arrivals(since time.Time, status int) (at []time.Time) {
	for _, call := range c.server.Calls("") {
		if call.Status == status && !call.At.Before(since) {
			at = append(at, call.At)
		}
	}
	return at
}

func TestOfThirtyTwoPeopleWhoWriteAtOnceTheLastHasItsAnswerAfterLittleMoreThanASecond(t *testing.T) {
	withPeople(t, 32, func(c *manyPeople) {
		for _, pause := range []time.Duration{time.Hour, 3 * time.Second, 2 * time.Second, 10 * time.Second} {
			time.Sleep(pause)
			began := time.Now()
			c.answerAll(0, 32)
			arrivals := c.arrivals(began, 200)
			if last := arrivals[31].Sub(began); last > 1200*time.Millisecond {
				c.t.Errorf("the last answer arrived after %s", last)
			}
			if at28 := arrivals[27].Sub(began); at28 > 60*time.Millisecond {
				c.t.Errorf("the 28th answer arrived after %s", at28)
			}
		}
		wanttest.Equal(c.t, "refusals", len(c.arrivals(time.Time{}, 429)), 0)
		wanttest.Equal(c.t, "the most calls that arrived in a second", maxInWindow(c.arrivals(time.Time{}, 200), time.Second), 28)
	})
}

func TestAServerThatAllowsLessIsSentLessAndLaterMoreAgain(t *testing.T) {
	const people = 200 // who want 40 answers a second
	withPeople(t, people, func(c *manyPeople) {
		check := func(limit int, length time.Duration, atLeast float64, mostRefused int) {
			c.t.Helper()
			limits := telegramtest.TelegramFloodLimits
			limits.GlobalPerSecond = limit
			c.server.SetFloodControl(limits)
			began := time.Now()
			c.answerFor(length, people)
			arrived := slices.DeleteFunc(c.arrivals(began, 200), func(at time.Time) bool { return at.Sub(began) > length })
			perSecond, refused := float64(len(arrived))/length.Seconds(), len(c.arrivals(began, 429))
			if perSecond < atLeast || refused > mostRefused {
				c.t.Errorf("%.1f of %d answers a second, %d were refused", perSecond, limit, refused)
			}
		}
		check(15, time.Minute, 12, 25)
		time.Sleep(3 * time.Minute)
		check(30, 30*time.Second, 25, 0)
	})
}

func TestRefusalsInOneChatDoNotSlowDownTheOthers(t *testing.T) {
	withPeople(t, 33, func(c *manyPeople) {
		var both sync.WaitGroup
		c.server.FailNext("sendMessage", telegramtest.RateLimited(1), telegramtest.RateLimited(1))
		for range 2 {
			both.Go(func() { c.answer(32) })
		}
		both.Wait()
		wanttest.Equal(c.t, "refusals", len(c.arrivals(time.Time{}, 429)), 2)
		time.Sleep(2 * time.Second)
		began := time.Now()
		c.answerAll(0, 28)
		if last := c.arrivals(began, 200)[27].Sub(began); last > 60*time.Millisecond {
			c.t.Errorf("28 answers took %s", last)
		}
	})
}

func TestManyAnswersAtOnceFindRoomAmongEdits(t *testing.T) {
	withPeople(t, 132, func(c *manyPeople) {
		ctx, cancel := context.WithCancel(c.t.Context())
		var edits sync.WaitGroup
		for i := range 100 {
			c.answer(32 + i)
			board := itoa(c.server.BotMessages(int64(1032 + i))[0].ID)
			edits.Go(func() { editOften(ctx, c.ch, chatOf(itoa(1032+i)), board) })
		}
		time.Sleep(20 * time.Second)
		for _, n := range []int{1, 5, 32} {
			time.Sleep(3*time.Second + 70*time.Millisecond)
			last := slices.Max(c.answerAll(0, n))
			if last > 1300*time.Millisecond || n <= 5 && last > 120*time.Millisecond {
				c.t.Errorf("of %d answers the last took %s", n, last)
			}
		}
		cancel()
		edits.Wait()
		wanttest.Equal(c.t, "refusals", len(c.arrivals(time.Time{}, 429)), 0)
	})
}
