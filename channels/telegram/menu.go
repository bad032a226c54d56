package telegram

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/channels/telegram/entities"
	"nanobot/internal/lazyregexp"
	"nanobot/internal/words"
)

// What Telegram takes as a menu.
const (
	maxCommands = 100
	maxHelp     = 256 // of a command, in UTF-16 units
)

var commandForm = lazyregexp.New(`^[a-z0-9_]{1,32}$`)

// telegramMenu converts commands to a menu, under names that Telegram accepts. Commands without
// such a name can still be typed.
func telegramMenu(commands []channels.Command, language string) []models.BotCommand {
	var menu []models.BotCommand
	for _, c := range commands {
		name := channels.MenuName(c.Name)
		again := func(m models.BotCommand) bool { return m.Command == name }
		if !commandForm().MatchString(name) || strings.Trim(name, "_") == "" || slices.ContainsFunc(menu, again) || len(menu) == maxCommands {
			continue
		}
		help := strings.Join(strings.Fields(c.HelpFor(language)), " ")
		if parts := markdown.Plain(help).Split(maxHelp, entities.Cost); len(parts) > 0 {
			help = parts[0].Text
		}
		menu = append(menu, models.BotCommand{Command: name, Description: cmp.Or(help, c.Name)})
	}
	return menu
}

// SetMenu sets the commands that Telegram shows beside the input field.
func (c *Channel) SetMenu(commands []channels.Command) { c.menu.SetMenu(commands) }

// SetWords sets the catalogue of the words that the channel adds to messages.
func (c *Channel) SetWords(w *words.Catalogue) { c.words = w }

// keepMenusPublished publishes the menus now and after each change, until ctx ends.
func (c *Channel) keepMenusPublished(ctx context.Context) {
	for {
		changed := c.menu.Changed()
		c.publishMenus(ctx, c.menu.Commands())
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// publishMenus sets the command menu, and the menus for people with another language, with retries
// until Telegram accepts or refuses them. The bot also works without.
func (c *Channel) publishMenus(ctx context.Context, commands []channels.Command) {
	if len(telegramMenu(commands, "")) == 0 {
		return
	}
	c.publishMenu(ctx, commands, "")
	for _, l := range menuLanguages(commands) {
		c.publishMenu(ctx, commands, l)
	}
}

// menuLanguages returns the languages that have menus of their own. A menu that an earlier start
// has set stays until it is replaced, so they are set even if they do not differ.
func menuLanguages(commands []channels.Command) []string {
	var all []string
	for _, c := range commands {
		for l := range c.HelpIn {
			if l != string(words.English) && !slices.Contains(all, l) {
				all = append(all, l)
			}
		}
	}
	slices.Sort(all)
	return all
}

// publishMenu sets the command menu of one language; "": of all others.
func (c *Channel) publishMenu(ctx context.Context, commands []channels.Command, language string) {
	menu := telegramMenu(commands, language)
	retrier := c.newRetrier("command menu not set, will retry")
	for {
		err := executeWithTimeout(ctx, c.api, (*bot.Bot).SetMyCommands, &bot.SetMyCommandsParams{Commands: menu, LanguageCode: language})
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
	general := c.menu.Commands()
	for _, l := range append([]string{""}, menuLanguages(general)...) {
		all, plain := telegramMenu(slices.Concat(general, commands), l), telegramMenu(general, l)
		if len(all) == len(plain) {
			err = executeWithTimeout(ctx, c.api, (*bot.Bot).DeleteMyCommands, &bot.DeleteMyCommandsParams{Scope: scope, LanguageCode: l})
		} else {
			err = executeWithTimeout(ctx, c.api, (*bot.Bot).SetMyCommands, &bot.SetMyCommandsParams{Commands: all, Scope: scope, LanguageCode: l})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
