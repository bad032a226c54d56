// Package menus shows the commands of the bot in Telegram's menus. It does not execute commands.
package menus

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/markdown"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/chats"
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
		again := func(other models.BotCommand) bool { return other.Command == name }
		if !commandForm().MatchString(name) || strings.Trim(name, "_") == "" || slices.ContainsFunc(menu, again) ||
			len(menu) == maxCommands {
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

// Menu is the command menu that Telegram shows beside the input field.
type Menu struct {
	channels.CommandMenu
	api        *botapi.Client
	migrations *chats.Migrations
	log        *zap.Logger
}

// New returns an empty menu.
func New(api *botapi.Client, migrations *chats.Migrations, log *zap.Logger) *Menu {
	return &Menu{api: api, migrations: migrations, log: log}
}

// Has reports whether a command without a bot name is in the menu. Other commands may be for other
// bots of the group.
func (m *Menu) Has(command string) bool {
	name := strings.ToLower(strings.TrimPrefix(command, "/"))
	for _, c := range m.Commands() {
		if strings.ToLower(c.Name) == name {
			return true
		}
	}
	return name == "start"
}

// KeepPublished publishes the menu now and after each change, until ctx ends, and the menus for
// people with another language. The bot also works without.
func (m *Menu) KeepPublished(ctx context.Context) {
	m.Follow(ctx, func() {
		commands := m.Commands()
		if len(telegramMenu(commands, "")) == 0 {
			return
		}
		for _, l := range append([]string{""}, menuLanguages(commands)...) {
			m.publishMenu(ctx, commands, l)
		}
	})
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

// publishMenu sets the command menu of one language; "": of all others. It retries until Telegram
// accepts or refuses the menu.
func (m *Menu) publishMenu(ctx context.Context, commands []channels.Command, language string) {
	menu := &bot.SetMyCommandsParams{Commands: telegramMenu(commands, language), LanguageCode: language}
	err := httpclient.NewRetrier(m.log, "command menu not set, will retry", httpclient.FirstDelay).Do(ctx, func() error {
		return botapi.ExecuteWithTimeout(ctx, m.api, (*bot.Bot).SetMyCommands, menu)
	})
	if err != nil && ctx.Err() == nil {
		m.log.Warn("command menu not set", zap.Error(err))
	}
}

// SetChatMenu adds commands to the menu of one chat. All topics of a forum share one menu.
func (m *Menu) SetChatMenu(ctx context.Context, chat channels.Chat, commands []channels.Command) error {
	to, err := chats.ParseAddress(chat.ID)
	if err != nil {
		return err
	}
	scope := &models.BotCommandScopeChat{ChatID: m.migrations.CurrentID(ctx, to.Chat)}
	general := m.Commands()
	for _, l := range append([]string{""}, menuLanguages(general)...) {
		all, plain := telegramMenu(slices.Concat(general, commands), l), telegramMenu(general, l)
		if len(all) == len(plain) {
			err = botapi.ExecuteWithTimeout(ctx, m.api, (*bot.Bot).DeleteMyCommands,
				&bot.DeleteMyCommandsParams{Scope: scope, LanguageCode: l})
		} else {
			err = botapi.ExecuteWithTimeout(ctx, m.api, (*bot.Bot).SetMyCommands,
				&bot.SetMyCommandsParams{Commands: all, Scope: scope, LanguageCode: l})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
