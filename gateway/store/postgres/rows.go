package postgres

import (
	"context"
	"fmt"
	"strconv"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// inboundRow is an inbound message and the number of its last change, which is its version.
type inboundRow struct {
	store.Inbound
	Op int64
}

// selectInbound is followed by a condition on rows of inbox.
const selectInbound = "SELECT inbound_json(i) FROM inbox i WHERE "

// byMessage is the condition on the inbound message that contains a message of the network.
const byMessage = "id = (SELECT inbound FROM seen WHERE chat = $1 AND message = $2)"

// readInbound reads the inbound message with an ID and its version. It is an ErrState if there is
// none.
func (s *state) readInbound(ctx context.Context, what string, id int64) (inboundRow, error) {
	row, found, err := readOne[inboundRow](ctx, s, what, selectInbound+"id = $1", id)
	if err == nil && !found {
		err = fmt.Errorf("%s: %w: there is no such inbound message", what, store.ErrState)
	}
	return row, err
}

// transientRow is a transient message whose chat is a key.
type transientRow struct {
	Key string
	store.Transient
}

func (r transientRow) transient() store.Transient {
	r.Chat, _ = channels.ParseChat(r.Key)
	return r.Transient
}

func transientsOf(rows []transientRow) (all []store.Transient) {
	for _, r := range rows {
		all = append(all, r.transient())
	}
	return all
}

// idArgs is the ID of an inbound message as an argument.
type idArgs struct {
	ID int64 `json:"id"`
}

// ofInbound is the scope of a change of the chat of an inbound message.
func ofInbound(id int64) scope { return scope{"inbound", strconv.FormatInt(id, 10)} }
