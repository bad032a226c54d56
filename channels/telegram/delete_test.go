package telegram_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// removeTogether removes 31 messages while the first deletion hangs. It returns the errors and the
// other calls, as method and parameters. answer answers these.
func removeTogether(t *testing.T, answer func(method string) (status int, body string)) (errs []error, calls []string) {
	t.Helper()
	var mu sync.Mutex
	hangs, release := true, make(chan struct{})
	ch := musttest.Get(telegram.New(telegram.Options{
		Token: "1:abc", Folder: channelstest.ChatFolders(t.TempDir()), Unpaced: true,
		Client: &http.Client{Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(req.Body)
			method := path.Base(req.URL.Path)
			mu.Lock()
			first := hangs
			hangs = false
			mu.Unlock()
			if first {
				<-release
				return respond(req, 200, `{"ok":true,"result":true}`), nil
			}
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, method+" "+string(body))
			status, text := answer(method)
			return respond(req, status, text), nil
		})},
	}))(t)
	errs = make([]error, 31)
	var work sync.WaitGroup
	for i := range errs {
		work.Go(func() { errs[i] = ch.Remove(t.Context(), chatOf("42"), strconv.Itoa(100+i)) })
		if i == 0 {
			synctest.Wait()
		}
	}
	synctest.Wait()
	close(release)
	work.Wait()
	return errs, calls
}

func TestMessagesThatAreRemovedTogetherShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs, calls := removeTogether(t, func(string) (int, string) { return 200, `{"ok":true,"result":true}` })
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		if len(calls) != 1 || !strings.HasPrefix(calls[0], "deleteMessages ") || !strings.Contains(calls[0], "101") || !strings.Contains(calls[0], "130") {
			t.Errorf("after the first, the calls were %q", calls)
		}
	})
}

func TestADeletionThatIsRefusedForOneMessageIsMadeForEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs, calls := removeTogether(t, func(method string) (int, string) {
			if method == "deleteMessages" {
				return 400, `{"ok":false,"error_code":400,"description":"Bad Request: message can't be deleted"}`
			}
			return 400, `{"ok":false,"error_code":400,"description":"Bad Request: message to delete not found"}`
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		if len(calls) != 31 || !strings.HasPrefix(calls[30], "deleteMessage ") {
			t.Errorf("the calls were %q", calls)
		}
	})
}

func TestADeletionThatMustWaitSaysHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs, _ := removeTogether(t, func(string) (int, string) {
			return 429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":7}}`
		})
		for _, err := range errs[1:] {
			var se *channels.SendError
			if !errors.As(err, &se) || se.After.Seconds() != 7 || se.Permanent {
				t.Fatalf("Remove returned %v", err)
			}
		}
	})
}

func TestACallerWhoLeavesDoesNotKeepTheMessagesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		hangs, release := true, make(chan struct{})
		var mu sync.Mutex
		var deleted []string
		ch, err := telegram.New(telegram.Options{
			Token: "1:abc", Folder: channelstest.ChatFolders(t.TempDir()), Unpaced: true,
			Client: &http.Client{Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(req.Body)
				mu.Lock()
				first := hangs
				hangs = false
				mu.Unlock()
				switch {
				case first:
					<-release
				case path.Base(req.URL.Path) == "deleteMessages":
					leave() // the first caller of the batch
					<-req.Context().Done()
					return nil, req.Context().Err()
				}
				mu.Lock()
				defer mu.Unlock()
				deleted = append(deleted, string(body))
				return respond(req, 200, `{"ok":true,"result":true}`), nil
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		var others []error
		for i, callerCtx := range []context.Context{t.Context(), ctx, t.Context(), t.Context()} {
			work.Go(func() {
				err := ch.Remove(callerCtx, chatOf("42"), strconv.Itoa(100+i))
				mu.Lock()
				defer mu.Unlock()
				if i != 1 {
					others = append(others, err)
				}
			})
			synctest.Wait()
		}
		close(release)
		work.Wait()
		if err := errors.Join(others...); err != nil || len(deleted) != 3 {
			t.Errorf("%v, deleted were %q", err, deleted)
		}
	})
}

func TestADeletionThatHasToGiveWayIsMadeAfterAWhileOrTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, calls := pacedCalls(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range 60 { // transient messages take every token that is spare
			go showOften(ctx, ch, chatOf(strconv.Itoa(1000+i)))
		}
		time.Sleep(10*time.Second + time.Millisecond) // after those that wait for the same moment
		began := time.Now()
		short, done := context.WithTimeout(t.Context(), time.Millisecond)
		defer done()
		var se *channels.SendError
		if err := ch.Remove(short, chatOf("42"), "1"); !errors.As(err, &se) || se.After <= 0 {
			t.Errorf("Remove returned %v", err)
		}
		if err := ch.Remove(t.Context(), chatOf("42"), "1"); err != nil || time.Since(began) > 500*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		wanttest.Equal(t, "calls were", len(calls()["deleteMessage"]), 1)
	})
}

func TestADeletionInAChatThatCannotBeReachedIsNotMadeForEach(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		body   string
		fails  bool
	}{
		"kicked":   {403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked from the group chat"}`, true},
		"gone":     {400, `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`, true},
		"migrated": {400, `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded","parameters":{"migrate_to_chat_id":-1001}}`, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			errs, calls := removeTogether(t, func(string) (int, string) { return tt.status, tt.body })
			wanttest.Equal(t, name+": after the first, … calls were made:", len(calls), 1)
			if err := errs[5]; (err != nil) != tt.fails {
				t.Errorf("%s: the error is %v", name, err)
			}
		})
	}
}

func TestADeletionDoesNotWaitUntilTheChatMayBeSentMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := musttest.Get(telegram.New(telegram.Options{
			Token: "1:abc", Folder: channelstest.ChatFolders(t.TempDir()),
			Client: &http.Client{Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
				if path.Base(req.URL.Path) == "deleteMessage" {
					return respond(req, 200, `{"ok":true,"result":true}`), nil
				}
				return respond(req, 429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":30}}`), nil
			})},
		}))(t)
		var se *channels.SendError
		if _, err := ch.Send(t.Context(), channels.Outgoing{Chat: chatOf("42"), Kind: channels.Answer, Text: "answer"}); !errors.As(err, &se) || se.After != 30*time.Second {
			t.Fatalf("Send returned %v", err)
		}
		began := time.Now()
		if err := ch.Remove(t.Context(), chatOf("42"), "1"); err != nil || time.Since(began) > time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
