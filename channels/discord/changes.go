package discord

import (
	"time"

	"nanobot/channels"
)

// deletion is a MESSAGE_DELETE or MESSAGE_DELETE_BULK event.
type deletion struct {
	ID      snowflake   `json:"id"`
	IDs     []snowflake `json:"ids"`
	Channel snowflake   `json:"channel_id"`
}

// handleEdit passes on the edit of a message. Discord sends the same event without a time when it
// has loaded the preview of a link, and after an edit once more with the time of the edit: previews
// are left out of the text, so that the gateway finds it unchanged.
func (in *receiver) handleEdit(m *message) {
	edited, err := time.Parse(time.RFC3339, m.Edited)
	if err != nil || !isUserMessage(m) {
		return
	}
	r, ok := in.c.guilds.channel(m.Channel)
	if !ok {
		r = channelInfo{guild: m.Guild}
	}
	if !in.state.accepted[m.ID] && !in.c.isForBot(m, r) {
		return
	}
	m.Embeds = nil
	in.enqueueChange(m.Channel, channels.Incoming{
		ID: m.ID.String(), User: sender(m.Author, m.Member), Text: in.c.fullText(m, r), Change: channels.Edited, ChangedAt: edited,
	})
}

// handleDeletion passes on the deletion of messages that were received before. Discord does not say
// whose messages they were.
func (in *receiver) handleDeletion(d deletion) {
	for _, id := range append(d.IDs, d.ID) {
		if in.state.accepted[id] {
			in.enqueueChange(d.Channel, channels.Incoming{ID: id.String(), Change: channels.Deleted})
		}
	}
}

// enqueueChange queues the change of a message behind the message itself. A change in the middle of
// a history search waits for its end.
func (in *receiver) enqueueChange(at snowflake, change channels.Incoming) {
	if thread := parseSnowflake(change.ID); thread != at {
		if _, ok := in.c.guilds.channel(thread); ok { // the message has opened a thread, which is the chat
			at = thread
		}
	}
	change.Chat = channels.Chat{Channel: Name, ID: at.String()}
	if r, ok := in.c.guilds.channel(at); ok && isThread(r.kind) {
		change.ThreadID = change.Chat.ID
	}
	e := in.newEntry()
	e.incoming = change
	close(e.ready)
	q := in.queueOf(at)
	if q.history != nil {
		q.addLive(e)
	} else {
		q.entries = append(q.entries, e)
	}
}
