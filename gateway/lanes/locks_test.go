package lanes

import (
	"testing"
	"testing/synctest"

	"nanobot/channels"
)

func TestAChatsLockDelaysThatChatAndNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks chatLocks
		one, two := channels.Chat{Channel: "net", ID: "1"}, channels.Chat{Channel: "net", ID: "2"}
		unlock := locks.lock(one)
		var order []string
		go func() {
			defer locks.lock(one)()
			order = append(order, "the same chat")
		}()
		synctest.Wait()
		locks.lock(two)()
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
		var inProgress pendingClaim
		inProgress.wait() // there is none
		end := inProgress.begin()
		waited := false
		go func() {
			inProgress.wait()
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
