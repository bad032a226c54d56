package waiters_test

import (
	"testing"

	"nanobot/gateway/waiters"
)

func TestEveryWaiterOfAKeyGetsTheNextValue(t *testing.T) {
	var w waiters.Waiters[int]
	first, leaveFirst := w.Wait("a")
	second, leaveSecond := w.Wait("a")
	other, leaveOther := w.Wait("b")
	if !w.Deliver("a", 1) || <-first != 1 || <-second != 1 || len(other) != 0 {
		t.Error("a value was not delivered to exactly those who wait for it")
	}
	if w.Deliver("a", 2) || len(first) != 0 {
		t.Error("a second value was delivered")
	}
	leaveFirst() // also after the value
	leaveSecond()
	leaveOther()
	if w.Deliver("b", 3) || len(other) != 0 {
		t.Error("a value was delivered to somebody who has left")
	}
}

func TestWhoLeavesDoesNotEndTheWaitOfOthers(t *testing.T) {
	var w waiters.Waiters[int]
	_, leave := w.Wait("a")
	other, leaveOther := w.Wait("a")
	defer leaveOther()
	leave()
	if !w.Deliver("a", 1) || <-other != 1 {
		t.Error("the value was not delivered")
	}
	again, leaveAgain := w.Wait("a")
	defer leaveAgain()
	leave() // a second time changes nothing
	if !w.Deliver("a", 2) || <-again != 2 {
		t.Error("the value was not delivered to a later waiter")
	}
}
