package telegram

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/channels/telegram/entities"
)

// What Telegram takes as a menu.
const (
	maxCommands = 100
	maxHelp     = 256 // of a command, in UTF-16 units
)

var commandForm = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// telegramMenu converts commands to a menu. Commands that Telegram does not accept can still be
// typed.
func telegramMenu(commands []channels.Command) []models.BotCommand {
	var menu []models.BotCommand
	for _, c := range commands {
		again := func(m models.BotCommand) bool { return m.Command == c.Name }
		if !commandForm.MatchString(c.Name) || slices.ContainsFunc(menu, again) || len(menu) == maxCommands {
			continue
		}
		help := strings.Join(strings.Fields(c.Help), " ")
		if parts := markdown.Plain(help).Split(maxHelp, entities.Cost); len(parts) > 0 {
			help = parts[0].Text
		}
		menu = append(menu, models.BotCommand{Command: c.Name, Description: cmp.Or(help, c.Name)})
	}
	return menu
}

// SetMenu sets the commands that Telegram shows beside the input field.
func (c *Channel) SetMenu(commands []channels.Command) { c.menu = slices.Clone(commands) }

// publishMenu sets the command menu, with retries until Telegram accepts or refuses it. The bot
// also works without it.
func (c *Channel) publishMenu(ctx context.Context) {
	menu := telegramMenu(c.menu)
	if len(menu) == 0 {
		return
	}
	retrier := c.newRetrier("command menu not set, will retry")
	for {
		err := executeWithTimeout(ctx, c.api, (*bot.Bot).SetMyCommands, &bot.SetMyCommandsParams{Commands: menu})
		var apiErr *apiError
		if errors.As(err, &apiErr) && apiErr.isPermanent() {
			c.log.Warn("command menu not set", zap.Error(err))
			return
		}
		if err == nil || !retrier.Wait(ctx, err) {
			return
		}
	}
}

// SetChatMenu adds commands to the menu of one chat. All topics of a forum share one menu.
func (c *Channel) SetChatMenu(ctx context.Context, chat channels.Chat, commands []channels.Command) error {
	to, err := parseChatAddress(chat.ID)
	if err != nil {
		return err
	}
	scope := &models.BotCommandScopeChat{ChatID: c.currentChat(ctx, to.chat)}
	all, plain := telegramMenu(slices.Concat(c.menu, commands)), telegramMenu(c.menu)
	if len(all) == len(plain) {
		return executeWithTimeout(ctx, c.api, (*bot.Bot).DeleteMyCommands, &bot.DeleteMyCommandsParams{Scope: scope})
	}
	return executeWithTimeout(ctx, c.api, (*bot.Bot).SetMyCommands, &bot.SetMyCommandsParams{Commands: all, Scope: scope})
}
