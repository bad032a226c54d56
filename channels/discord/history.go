package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"

	"nanobot/channels/httpclient"
)

const (
	// historyPageSize is the largest page of messages that Discord returns.
	historyPageSize = 100
	// maxHistoryCalls bounds the chats whose history is fetched at the same time.
	maxHistoryCalls = 4
	// maxLive bounds the live messages of a chat that wait for its history search. When there are
	// more, the search fetches them.
	maxLive = 200
)

// historySearch fetches the messages of a chat that may have been missed.
type historySearch struct {
	after    snowflake // messages up to this ID were fetched
	thread   bool
	fetching bool // a call is running
	repeat   bool // live messages were dropped: fetch once more at the end
	retryAt  time.Time
	retrier  *httpclient.Retrier
	// unanswered are messages to the bot from before its first run that no message of the bot
	// follows.
	unanswered []*message
}

// completeUpTo is the ID up to which every message was accepted.
func (p *historySearch) completeUpTo() snowflake {
	if len(p.unanswered) > 0 {
		return min(p.after, p.unanswered[0].ID-1)
	}
	return p.after
}

// startHistorySearch searches the history of a chat, at most once a session.
func (in *receiver) startHistorySearch(id snowflake, thread bool, from snowflake) {
	if in.searched[id] {
		return
	}
	in.searched[id] = true
	if r, ok := in.c.guilds.channel(id); ok && r.unreadable {
		return
	}
	l := in.queueOf(id)
	if l.history != nil { // started before an outage: it continues
		l.dropLiveMessages()
		return
	}
	l.history = &historySearch{after: from, thread: thread, retrier: in.c.newRetrier("history not fetched, will retry")}
}

// cancelHistorySearch ends the search in a channel that was deleted. Its messages could not be told
// from direct messages any more.
func (in *receiver) cancelHistorySearch(id snowflake) {
	if l := in.queues[id]; l != nil {
		l.history, l.live = nil, nil
	}
}

// fetchHistory requests the next page of each chat whose history is being searched and whose queue
// is empty.
func (in *receiver) fetchHistory(ctx context.Context) {
	now := time.Now()
	for id, l := range in.queues {
		p := l.history
		if p == nil || p.fetching || len(l.entries) > 0 || now.Before(p.retryAt) {
			continue
		}
		if in.historyCalls == maxHistoryCalls {
			return
		}
		in.historyCalls++
		p.fetching = true
		in.runInBackground(ctx, func() func() {
			page, err := in.c.fetchPage(ctx, id, p.after, p.thread)
			return func() {
				in.historyCalls--
				p.fetching = false
				if l.history == p {
					in.handleHistoryPage(ctx, id, page, err)
				}
			}
		})
	}
}

// fetchPage returns the messages of a chat after a given ID, oldest first. A thread that is not in
// the cache is fetched first.
func (c *Channel) fetchPage(ctx context.Context, id, after snowflake, thread bool) ([]*message, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, ok := c.guilds.channel(id); !ok && thread {
		var p channelObject
		err := c.api.call(ctx, route{getChannel, id.String()}, &p, func(l library) (any, error) { return l.Channel(id.String(), l.options...) })
		if err != nil {
			return nil, err
		}
		c.guilds.addChannel(p)
	}
	var all []json.RawMessage
	err := c.api.call(ctx, route{getMessages, id.String()}, &all, func(l library) (any, error) {
		return l.ChannelMessages(id.String(), historyPageSize, "", after.String(), "", l.options...)
	})
	var page []*message
	for _, raw := range all {
		if m := c.decodeMessage(raw); m.ID != 0 {
			page = append(page, m)
		}
	}
	slices.SortFunc(page, func(a, b *message) int { return cmp.Compare(a.ID, b.ID) })
	return page, err
}

// decodeMessage decodes one message of a page by itself, so that an undecodable message does not
// affect the others. The library is not used because it fails on unknown components. An undecodable
// message keeps only its ID, with a type that is never accepted, so that the search continues after
// it.
func (c *Channel) decodeMessage(raw json.RawMessage) *message {
	var m message
	err := json.Unmarshal(raw, &m)
	if err == nil {
		return &m
	}
	m = message{Type: -1}
	_ = json.Unmarshal(raw, &struct {
		ID *snowflake `json:"id"`
	}{&m.ID})
	c.log.Error("undecodable message skipped", zap.Stringer("id", m.ID), zap.Int("bytes", len(raw)), zap.Error(err))
	return &m
}

// handleHistoryPage accepts the messages of a page, or handles the error of the call.
func (in *receiver) handleHistoryPage(ctx context.Context, id snowflake, page []*message, err error) {
	l := in.queueOf(id)
	p := l.history
	var no *apiError
	switch {
	case ctx.Err() != nil:
		return
	case errors.As(err, &no) && no.isPermanent():
		in.c.log.Debug("history refused", zap.Stringer("chat", id), zap.Error(err))
		if no.Status == http.StatusForbidden {
			in.c.guilds.markUnreadable(id)
		} else {
			in.state.forgetChat(id)
		}
		in.finishHistorySearch(ctx, l)
		return
	case err != nil:
		p.retryAt = time.Now().Add(p.retrier.Next(err))
		return
	}
	p.retryAt = time.Time{}
	end, met := l.firstLiveMessage(), false
	for _, m := range page {
		if met = m.ID >= end; met { // the live messages begin here
			break
		}
		in.state.newestMessage = max(in.state.newestMessage, m.ID)
		p.after = max(p.after, m.ID)
		if m.ID <= in.state.firstRun {
			in.considerOldMessage(p, m)
			continue
		}
		in.acceptUnanswered(ctx, p)
		l.enqueueInteractions(m.ID)
		in.acceptMessage(ctx, m)
	}
	switch {
	case met:
		in.finishHistorySearch(ctx, l)
	case len(page) >= historyPageSize:
	case p.repeat:
		p.repeat = false
	default:
		in.finishHistorySearch(ctx, l)
	}
}

// considerOldMessage handles a message from before the first run. Messages to the bot since its own
// last message are kept; all others count as accepted, so that no later search finds them.
func (in *receiver) considerOldMessage(p *historySearch, m *message) {
	r, _ := in.c.guilds.channel(m.Channel)
	switch {
	case m.Author.ID == in.c.guilds.botID():
		for _, f := range p.unanswered {
			in.state.markAccepted(f.ID)
		}
		p.unanswered = nil
	case in.state.accepted[m.ID] || !in.c.isForBot(m, r):
	case r.guild == 0 || in.c.addressesBot(m, r):
		p.unanswered = append(p.unanswered, m)
	default:
		in.state.markAccepted(m.ID)
	}
}

// acceptUnanswered accepts the messages that considerOldMessage has kept.
func (in *receiver) acceptUnanswered(ctx context.Context, p *historySearch) {
	for _, m := range p.unanswered {
		in.acceptMessage(ctx, m)
	}
	p.unanswered = nil
}

// finishHistorySearch ends the search in a chat. The live messages follow.
func (in *receiver) finishHistorySearch(ctx context.Context, l *chatQueue) {
	held := l.live
	in.acceptUnanswered(ctx, l.history)
	l.history, l.live = nil, nil
	for _, e := range held {
		if e.interaction != nil {
			l.entries = append(l.entries, e)
		} else {
			in.acceptMessage(ctx, e.message)
		}
	}
}

// addLive stores an event that arrived during the history search. Beyond maxLive, messages are left
// to the search.
func (l *chatQueue) addLive(e *entry) {
	if len(l.live) >= maxLive && e.interaction == nil {
		l.dropLiveMessages()
		return
	}
	l.live = append(l.live, e)
}

// dropLiveMessages leaves the live messages to the history search. Interactions stay, because they
// are not in the history.
func (l *chatQueue) dropLiveMessages() {
	l.live = slices.DeleteFunc(l.live, func(e *entry) bool { return e.interaction == nil })
	l.history.repeat = true
}

// firstLiveMessage returns the ID of the first live message, or the highest ID if there is none.
func (l *chatQueue) firstLiveMessage() snowflake {
	for _, e := range l.live {
		if e.message != nil {
			return e.message.ID
		}
	}
	return math.MaxUint64
}

// enqueueInteractions moves the interactions that are older than a fetched message into the queue.
func (l *chatQueue) enqueueInteractions(before snowflake) {
	l.live = slices.DeleteFunc(l.live, func(e *entry) bool {
		if e.interaction == nil || e.interaction.ID >= before {
			return false
		}
		l.entries = append(l.entries, e)
		return true
	})
}
