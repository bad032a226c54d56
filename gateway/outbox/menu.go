package outbox

import (
	"cmp"
	"context"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
)

const (
	// menuTimeout is how long a menu is tried: it gives way to everything else, and a bot may be
	// busy for long.
	menuTimeout = 6 * time.Hour
	// maxMenus bounds the chats whose menus are being set.
	maxMenus = 4096
)

// ShowMenu has the commands of a chat's menu set in the background, until set succeeds or the
// network refuses it. A later call for the chat replaces this one.
func (box *Outbox) ShowMenu(chat channels.Chat, set func(ctx context.Context) error) {
	group := box.networks.groupOf(chat) // whose topics have one menu
	if !box.menus.add(group, set, maxMenus) {
		return
	}
	box.tasks.Go(func(ctx context.Context) {
		for set, ok := box.menus.next(group); ok; set, ok = box.menus.next(group) {
			err := box.networks.tryUntil(ctx, chat, menuTimeout, func(ctx context.Context) error {
				if box.menus.hasNext(group) {
					return errSuperseded
				}
				return cmp.Or(set(ctx), errNoCall)
			})
			if err != nil {
				box.o.Log.Debug("command menu not updated", zap.Stringer("chat", chat), zap.Error(err))
			}
		}
	})
}
