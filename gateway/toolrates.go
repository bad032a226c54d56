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
	// toolMessages and toolProgress are the bursts of messages and progress updates that the tools
	// of a chat may send. toolMessageEvery and toolProgressEvery are the intervals afterwards.
	toolMessages, toolMessageEvery  = 20, time.Minute / 30
	toolProgress, toolProgressEvery = 60, time.Minute / 120
	// toolWrites and toolWriteEvery are the same for stored runbooks and new runs, which stay on
	// disk.
	toolWrites, toolWriteEvery = 60, time.Minute / 30
	maxChatRates               = 1000 // chats with a limiter
)

// toolRates are the rate limits of tools.
type toolRates struct{ messages, progress, writes chatRates }

func newToolRates() toolRates {
	return toolRates{
		messages: chatRates{unit: "messages", burst: toolMessages, every: toolMessageEvery},
		progress: chatRates{unit: "updates of the progress", burst: toolProgress, every: toolProgressEvery},
		writes:   chatRates{unit: "runbooks and runs", burst: toolWrites, every: toolWriteEvery},
	}
}

// chatRates is a token bucket per chat, shared by all its connections.
type chatRates struct {
	unit  string
	burst int
	every time.Duration

	mu    sync.Mutex
	chats map[channels.Chat]*rate.Limiter
}

// allow returns an error if a chat exceeds its rate. The error says how long to wait.
func (r *chatRates) allow(chat channels.Chat, n int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.chats[chat]
	if !ok {
		r.dropIdle()
		l = rate.NewLimiter(rate.Every(r.every), r.burst)
		r.chats[chat] = l
	}
	reserved := l.ReserveN(time.Now(), n)
	wait := reserved.Delay()
	if wait == 0 {
		return nil
	}
	reserved.Cancel()
	return &tools.RateLimitError{Reason: fmt.Sprintf("Too many %s: %d at once and %d a minute are allowed in a chat. "+
		"Wait %d s, then try again.",
		r.unit, r.burst, time.Minute/r.every, int(math.Ceil(wait.Seconds())))}
}

// dropIdle removes the limiters of idle chats, when there are many.
func (r *chatRates) dropIdle() {
	if r.chats == nil {
		r.chats = map[channels.Chat]*rate.Limiter{}
	}
	if len(r.chats) < maxChatRates {
		return
	}
	for chat, l := range r.chats {
		if l.Tokens() >= float64(r.burst) {
			delete(r.chats, chat)
		}
	}
}
