package gateway

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"nanobot/channels"
	"nanobot/gateway/tools"
)

const (
	// toolMessages and toolProgress are how many messages and updates of the progress the tools of
	// a chat may send at once, and toolMessageEvery and toolProgressEvery how soon another one.
	toolMessages, toolMessageEvery  = 20, time.Minute / 30
	toolProgress, toolProgressEvery = 60, time.Minute / 120
	// toolWrites and toolWriteEvery are the same for runbooks that are stored and runs that begin,
	// which stay on disk.
	toolWrites, toolWriteEvery = 60, time.Minute / 30
	mostChatRates              = 1000 // chats that are remembered
)

// toolRates bound what tools send.
type toolRates struct{ messages, progress, writes chatRates }

func newToolRates() toolRates {
	return toolRates{
		messages: chatRates{what: "messages", burst: toolMessages, every: toolMessageEvery},
		progress: chatRates{what: "updates of the progress", burst: toolProgress, every: toolProgressEvery},
		writes:   chatRates{what: "runbooks and runs", burst: toolWrites, every: toolWriteEvery},
	}
}

// chatRates is a token bucket for each chat, whatever connections it has.
type chatRates struct {
	what  string
	burst int
	every time.Duration

	mu    sync.Mutex
	chats map[channels.Chat]*rate.Limiter
}

// admit refuses what is too much. The error says how long to wait.
func (r *chatRates) admit(chat channels.Chat) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.chats[chat]
	if !ok {
		r.forgetIdle()
		l = rate.NewLimiter(rate.Every(r.every), r.burst)
		r.chats[chat] = l
	}
	reserved := l.Reserve()
	wait := reserved.Delay()
	if wait == 0 {
		return nil
	}
	reserved.Cancel()
	return &tools.TooManyError{Reason: fmt.Sprintf("Too many %s: %d at once and %d a minute are allowed in a chat. Wait %d s, then try again.",
		r.what, r.burst, time.Minute/r.every, int(math.Ceil(wait.Seconds())))}
}

// forgetIdle forgets chats that may send as much as any new one, when many are remembered.
func (r *chatRates) forgetIdle() {
	if r.chats == nil {
		r.chats = map[channels.Chat]*rate.Limiter{}
	}
	if len(r.chats) < mostChatRates {
		return
	}
	for chat, l := range r.chats {
		if l.Tokens() >= float64(r.burst) {
			delete(r.chats, chat)
		}
	}
}
