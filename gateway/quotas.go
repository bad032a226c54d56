package gateway

import (
	"cmp"
	"context"
	"time"

	"nanobot/channels"
	"nanobot/gateway/quota"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// admitTurn counts a message for its quotas. It reports whether its turn may start, and returns
// what its chat is to be told; "": nothing.
func (g *Gateway) admitTurn(ctx context.Context, inbound store.Inbound, agent string, w words.Words) (
	ok bool, notice string, err error,
) {
	rules := g.currentSettings().Quotas
	if len(rules) == 0 {
		return true, "", nil
	}
	in := inbound.In
	if in.Origin != channels.Person {
		if err := g.choice.Locate(ctx, &in); err != nil {
			return false, "", err
		}
	}
	facts := g.choice.Facts(in, quota.WantsMedia(rules))
	facts.Command = cmp.Or(in.Command, facts.Command)
	quotas, zone := quota.Of(rules, facts, agent), g.Zone()
	if len(quotas) == 0 {
		return true, "", nil
	}
	a, err := g.o.Store.AdmitTurn(ctx, inbound.ID, quotas, zone)
	renews := store.StartOfDay(store.StartOfDay(time.Now(), zone).AddDate(0, 0, 1), zone)
	return a.Admitted, quota.Notice(w, quotas, a, renews), err
}
