package fast_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"nanobot/channels/telegram/telegramtest/fast"
	"nanobot/internal/musttest"
)

// start starts the server and returns its URL.
func start(t *testing.T) string {
	t.Helper()
	in, stop := io.Pipe()
	out, printed := io.Pipe()
	var work sync.WaitGroup
	work.Go(func() { fast.Main(in, printed) })
	t.Cleanup(func() {
		_ = stop.Close()
		work.Wait()
	})
	return strings.TrimSpace(musttest.Get(bufio.NewReader(out).ReadString('\n'))(t))
}

// post makes a request and decodes its response into result.
func post(t *testing.T, address, kind, body string, result any) {
	t.Helper()
	r := musttest.Get(http.Post(address, kind, strings.NewReader(body)))(t)
	defer func() { _ = r.Body.Close() }()
	musttest.Do(t, json.NewDecoder(r.Body).Decode(result))
}

// answerUpdates answers n updates as a bot, and returns how often each was delivered.
func answerUpdates(t *testing.T, server string, n int, text string) map[int64]int {
	t.Helper()
	delivered, offset := map[int64]int{}, int64(0)
	for len(delivered) < n {
		var batch struct {
			Result []struct {
				ID      int64 `json:"update_id"`
				Message struct{ Chat struct{ ID int64 } }
			}
		}
		params := `{"timeout":50,"limit":2,"offset":` + strconv.FormatInt(offset, 10) + `}`
		post(t, server+"/bot1:x/getUpdates", "application/json", params, &batch)
		for _, u := range batch.Result {
			delivered[u.ID]++
			offset = u.ID + 1
			form := url.Values{"chat_id": {strconv.FormatInt(u.Message.Chat.ID, 10)}, "text": {text}}
			var sent struct {
				Result struct{ Chat struct{ ID int64 } }
			}
			post(t, server+"/bot1:x/sendMessage", "application/x-www-form-urlencoded", form.Encode(), &sent)
			if sent.Result.Chat.ID != u.Message.Chat.ID {
				t.Errorf("a message to chat %d was sent to chat %d", u.Message.Chat.ID, sent.Result.Chat.ID)
			}
		}
	}
	return delivered
}

func TestEveryMessageOfALoadIsDeliveredOnceAndTimedUntilItsAnswer(t *testing.T) {
	server := start(t)
	const turns = 9
	var work sync.WaitGroup
	work.Go(func() {
		for id, n := range answerUpdates(t, server, turns, "oh, hi") {
			if n != 1 {
				t.Errorf("update %d was delivered %d times", id, n)
			}
		}
	})
	load := musttest.Get(json.Marshal(fast.Load{First: 5, Chats: 3, People: 3, Turns: turns, Text: "hello", Answer: "hi"}))(t)
	var result fast.Result
	post(t, server+"/load", "application/json", string(load), &result)
	work.Wait()
	if len(result.Latencies) != turns || result.Error != "" {
		t.Errorf("%d of %d messages were answered: %s", len(result.Latencies), turns, result.Error)
	}
	for _, took := range result.Latencies {
		if took <= 0 || took > result.Took {
			t.Errorf("an answer took %s of %s", took, result.Took)
		}
	}
	var polled int64
	if post(t, server+"/polled", "application/json", "", &polled); polled == 0 {
		t.Error("the time of the first poll is unknown")
	}
}
