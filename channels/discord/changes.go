package discord

import (
	"context"
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
func (in *receiver) handleEdit(ctx context.Context, m *message) {
	edited, err := time.Parse(time.RFC3339, m.Edited)
	if err != nil || !isUserMessage(m) {
		return
	}
	r := in.c.guilds.channelWith(m)
	m.Embeds = nil
	by := sender(m.Author, m.Member)
	by.Language = in.c.guilds.guild(r.guild).language
	change := channels.Incoming{
		ID: m.ID.String(), User: by, Text: in.c.fullText(m, r), Change: channels.Edited, ChangedAt: edited,
	}
	if in.state.accepted[m.ID] || in.c.isForBot(m, r) {
		in.enqueueChange(m.Channel, change)
		return
	}
	in.enqueueKnown(ctx, m.Channel, []channels.Incoming{change})
}

// handleDeletion passes on the deletion of messages that were received before. Discord does not say
// whose messages they were.
func (in *receiver) handleDeletion(ctx context.Context, d deletion) {
	var others []channels.Incoming
	for _, id := range append(d.IDs, d.ID) {
		change := channels.Incoming{ID: id.String(), Change: channels.Deleted}
		switch {
		case in.state.accepted[id]:
			in.enqueueChange(d.Channel, change)
		case id != 0:
			others = append(others, change)
		}
	}
	in.enqueueKnown(ctx, d.Channel, others)
}

// enqueueKnown queues the changes of messages that the gateway knows. The accepted IDs are those of
// recent messages since the start; the gateway knows older ones.
func (in *receiver) enqueueKnown(ctx context.Context, at snowflake, changes []channels.Incoming) {
	if in.c.store == nil || len(changes) == 0 {
		return
	}
	in.runInBackground(ctx, func() func() {
		var known []channels.Incoming
		for _, change := range changes {
			if in.isKnown(ctx, at, change.ID) {
				known = append(known, change)
			}
		}
		return func() {
			for _, change := range known {
				in.enqueueChange(at, change)
			}
		}
	})
}

// isKnown reports whether the gateway has received a message, in its channel or in the thread that
// the message has opened. It retries until ctx ends.
func (in *receiver) isKnown(ctx context.Context, at snowflake, id string) bool {
	known := false
	for _, chat := range []string{at.String(), id} {
		err := in.c.newRetrier("cannot look up a changed message, will retry").Do(ctx, func() (err error) {
			known, err = in.c.store.Known(ctx, in.c.chat(chat), id)
			return err
		})
		if known || err != nil {
			break
		}
	}
	return known
}

// enqueueChange queues the change of a message behind the message itself. A change in the middle of
// a history search waits for its end.
func (in *receiver) enqueueChange(at snowflake, change channels.Incoming) {
	if thread := parseSnowflake(change.ID); thread != at {
		if _, ok := in.c.guilds.channel(thread); ok { // the message has opened a thread, which is the chat
			at = thread
		}
	}
	change.Chat = in.c.chat(at.String())
	if r, ok := in.c.guilds.channel(at); ok && isThread(r.kind) {
		change.ThreadID = change.Chat.ID
	}
	in.queueOf(at).add(&entry{incoming: change, ready: true, chatsVersion: in.state.chatsVersion})
}
