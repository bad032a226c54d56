package discord

import (
	"context"

	"go.uber.org/zap"
)

// maxDMLookups bounds the direct message channels that are opened at the start. A bot that opens
// many looks like spam.
const maxDMLookups = 25

// searchDirectMessages searches the direct messages of the configured users, which may have written
// while the bot was offline.
func (in *receiver) searchDirectMessages(ctx context.Context) {
	n := 0
	for _, p := range in.c.o.People {
		id := parseSnowflake(p)
		if id == 0 || n == maxDMLookups {
			continue
		}
		n++
		in.dmLookups++
		from := in.missedSince
		in.runInBackground(ctx, func() func() {
			dm := in.c.openDirectChannel(ctx, id)
			return func() {
				in.dmLookups--
				if dm.ID != 0 && dm.Last > from {
					in.startHistorySearch(dm.ID, false, from)
				}
			}
		})
	}
}

// openDirectChannel returns the direct message channel with a user, or a zero value if Discord
// refuses.
func (c *Channel) openDirectChannel(ctx context.Context, id snowflake) channelObject {
	var p channelObject
	err := c.newRetrier("direct conversation not found, will retry").Do(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return c.api.call(ctx, route{name: openDM}, &p, func(l library) (any, error) {
			return l.UserChannelCreate(id.String(), l.options...)
		})
	})
	if err != nil {
		c.log.Debug("no direct conversation", zap.Stringer("user", id), zap.Error(err))
		return channelObject{}
	}
	return p
}
