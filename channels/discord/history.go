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

// completeUpTo returns the ID up to which all messages were accepted.
func (s *historySearch) completeUpTo() snowflake {
	if len(s.unanswered) > 0 {
		return min(s.after, s.unanswered[0].ID-1)
	}
	return s.after
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
	q := in.queueOf(id)
	if q.history != nil { // started before an outage: it continues
		q.dropLiveMessages()
		return
	}
	q.history = &historySearch{after: from, thread: thread, retrier: in.c.newRetrier("history not fetched, will retry")}
}

// cancelHistorySearch ends the search in a channel that was deleted or whose guild the bot has
// left. Its messages could no longer be distinguished from direct messages.
func (in *receiver) cancelHistorySearch(id snowflake) {
	if q := in.queues[id]; q != nil {
		q.history, q.live = nil, nil
	}
}

// fetchHistory requests the next page of each chat whose history is being searched and whose queue
// is empty.
func (in *receiver) fetchHistory(ctx context.Context) {
	now := time.Now()
	for id, q := range in.queues {
		search := q.history
		if search == nil || search.fetching || len(q.entries) > 0 || now.Before(search.retryAt) {
			continue
		}
		if in.historyCalls == maxHistoryCalls {
			return
		}
		in.historyCalls++
		search.fetching = true
		in.runInBackground(ctx, func() func() {
			page, err := in.c.fetchPage(ctx, id, search.after, search.thread)
			return func() {
				in.historyCalls--
				search.fetching = false
				if q.history == search {
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
		var ch channelObject
		err := c.api.call(ctx, route{getChannel, id.String()}, &ch,
			func(l library) (any, error) { return l.Channel(id.String(), l.options...) })
		if err != nil {
			return nil, err
		}
		c.guilds.addChannel(ch)
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
	q := in.queueOf(id)
	search := q.history
	var apiErr *apiError
	switch {
	case ctx.Err() != nil:
		return
	case errors.As(err, &apiErr) && apiErr.isPermanent():
		in.c.log.Debug("history refused", zap.Stringer("chat", id), zap.Error(err))
		if apiErr.Status == http.StatusForbidden {
			in.c.guilds.setUnreadable(id, true)
		} else {
			in.state.forgetChat(id)
		}
		in.finishHistorySearch(ctx, q)
		return
	case err != nil:
		search.retryAt = time.Now().Add(search.retrier.Next(err))
		return
	}
	search.retryAt = time.Time{}
	end, reachedLive := q.firstLiveMessage(), false
	for _, m := range page {
		if reachedLive = m.ID >= end; reachedLive { // the live messages begin here
			break
		}
		in.state.newestMessage = max(in.state.newestMessage, m.ID)
		search.after = max(search.after, m.ID)
		if m.ID <= in.state.firstRun {
			in.considerOldMessage(search, m)
			continue
		}
		in.acceptUnanswered(ctx, search)
		q.enqueueInteractions(m.ID)
		in.acceptMessage(ctx, m)
	}
	switch {
	case reachedLive:
		in.finishHistorySearch(ctx, q)
	case len(page) >= historyPageSize:
	case search.repeat:
		search.repeat = false
	default:
		in.finishHistorySearch(ctx, q)
	}
}

// considerOldMessage handles a message from before the first run. Messages to the bot since its own
// last message are added to unanswered; all others count as accepted, so that no later search finds
// them.
func (in *receiver) considerOldMessage(search *historySearch, m *message) {
	r, _ := in.c.guilds.channel(m.Channel)
	switch {
	case m.Author.ID == in.c.guilds.botID():
		for _, f := range search.unanswered {
			in.state.markAccepted(f.ID)
		}
		search.unanswered = nil
	case in.state.accepted[m.ID] || !in.c.isForBot(m, r):
	case r.guild == 0 || in.c.addressesBot(m, r):
		search.unanswered = append(search.unanswered, m)
	default:
		in.state.markAccepted(m.ID)
	}
}

// acceptUnanswered accepts the messages that considerOldMessage has added to unanswered.
func (in *receiver) acceptUnanswered(ctx context.Context, search *historySearch) {
	for _, m := range search.unanswered {
		in.acceptMessage(ctx, m)
	}
	search.unanswered = nil
}

// finishHistorySearch ends the search in a chat. The live messages follow.
func (in *receiver) finishHistorySearch(ctx context.Context, q *chatQueue) {
	live := q.live
	in.acceptUnanswered(ctx, q.history)
	q.history, q.live = nil, nil
	for _, e := range live {
		if e.message == nil {
			q.entries = append(q.entries, e)
		} else {
			in.acceptMessage(ctx, e.message)
		}
	}
}

// add appends an entry, which waits while the history is searched. Beyond maxLive, messages are
// dropped, and the search fetches them.
func (q *chatQueue) add(e *entry) {
	switch {
	case q.history == nil:
		q.entries = append(q.entries, e)
	case len(q.live) >= maxLive && e.message != nil:
		q.dropLiveMessages()
	default:
		q.live = append(q.live, e)
	}
}

// dropLiveMessages drops the live messages; the history search fetches them again. Interactions
// and changes stay, because they are not in the history.
func (q *chatQueue) dropLiveMessages() {
	q.live = slices.DeleteFunc(q.live, func(e *entry) bool { return e.message != nil })
	q.history.repeat = true
}

// firstLiveMessage returns the ID of the first live message, or the highest ID if there is none.
func (q *chatQueue) firstLiveMessage() snowflake {
	for _, e := range q.live {
		if e.message != nil {
			return e.message.ID
		}
	}
	return math.MaxUint64
}

// enqueueInteractions moves the interactions that are older than a fetched message into the queue.
func (q *chatQueue) enqueueInteractions(before snowflake) {
	q.live = slices.DeleteFunc(q.live, func(e *entry) bool {
		if e.interaction == nil || e.interaction.ID >= before {
			return false
		}
		q.entries = append(q.entries, e)
		return true
	})
}
