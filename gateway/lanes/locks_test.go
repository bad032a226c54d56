package lanes_test

import (
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/gateway/lanes"
)

func TestAChatsLockDelaysThatChatAndNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks lanes.ChatLocks
		one, two := channels.Chat{Channel: "net", ID: "1"}, channels.Chat{Channel: "net", ID: "2"}
		unlock := locks.Lock(one)
		var order []string
		go func() {
			defer locks.Lock(one)()
			order = append(order, "the same chat")
		}()
		synctest.Wait()
		locks.Lock(two)()
		if len(order) > 0 {
			t.Fatal("a locked chat was locked again")
		}
		unlock()
		synctest.Wait()
		if len(order) != 1 {
			t.Error("the lock was not handed on")
		}
	})
}

func TestWaitingForClaimsEndsWithTheClaimInProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var claims lanes.Claims
		claims.Wait() // there is none
		end := claims.Begin()
		waited := false
		go func() {
			claims.Wait()
			waited = true
		}()
		synctest.Wait()
		if waited {
			t.Fatal("a claim in progress was not waited for")
		}
		end()
		synctest.Wait()
		if !waited {
			t.Error("the end of the claim was missed")
		}
	})
}
