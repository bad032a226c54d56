// Package menus shows the commands of the bot in Telegram's menus. It does not execute commands.
package menus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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
	"nanobot/channels/telegram/pace"
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
	o      Options
	memory channels.Memory // nil: every menu is set again
}

// Options configures a Menu.
type Options struct {
	API        *botapi.Client
	Pace       *pace.Pacer
	Migrations *chats.Migrations
	Log        *zap.Logger
	Bot        string // its ID; another bot has other menus
}

// New returns an empty menu.
func New(o Options) *Menu { return &Menu{o: o} }

// SetMemory sets the channel's memory, which has the hash of each menu that Telegram has.
func (m *Menu) SetMemory(memory channels.Memory) { m.memory = memory }

// Has reports whether a command without a bot name is in the menu. Other commands may be for other
// bots of the group.
func (m *Menu) Has(command string) bool {
	name := strings.ToLower(strings.TrimPrefix(command, "/"))
	for _, c := range m.Commands() {
		if strings.ToLower(c.Name) == name || channels.MenuName(c.Name) == name {
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
	err := httpclient.NewRetrier(m.o.Log, "command menu not set, will retry", httpclient.FirstDelay).Do(ctx, func() error {
		return m.set(ctx, "", menu)
	})
	if err != nil && ctx.Err() == nil {
		m.o.Log.Warn("command menu not set", zap.Error(err))
	}
}

// set sets the menu of a chat in a language, or of all chats; without commands it is deleted. It
// gives way to all other calls, and makes none if Telegram has this menu already.
func (m *Menu) set(ctx context.Context, chat string, menu *bot.SetMyCommandsParams) error {
	key := strings.Join([]string{"menu", chat, menu.LanguageCode}, "/")
	text, err := json.Marshal(menu)
	if err != nil {
		return err
	}
	hash := fmt.Sprintf("%x", sha256.Sum256(append([]byte(m.o.Bot), text...)))
	if m.memory != nil {
		before, err := m.memory.Load(ctx, key)
		if err == nil && before == hash {
			return nil
		}
	}
	if err := m.o.Pace.GiveWay(ctx, 0, pace.Menu); err != nil {
		return err
	}
	if len(menu.Commands) > 0 {
		err = botapi.ExecuteWithTimeout(ctx, m.o.API, (*bot.Bot).SetMyCommands, menu)
	} else {
		err = botapi.ExecuteWithTimeout(ctx, m.o.API, (*bot.Bot).DeleteMyCommands,
			&bot.DeleteMyCommandsParams{Scope: menu.Scope, LanguageCode: menu.LanguageCode})
	}
	if err != nil || m.memory == nil {
		return err
	}
	if err := m.memory.Save(context.WithoutCancel(ctx), key, hash); err != nil {
		m.o.Log.Debug("the command menu will be set again", zap.Error(err))
	}
	return nil
}

// SetChatMenu adds commands to the menu of one chat. All topics of a forum share one menu.
func (m *Menu) SetChatMenu(ctx context.Context, chat channels.Chat, commands []channels.Command) error {
	to, err := chats.ParseAddress(chat.ID)
	if err != nil {
		return err
	}
	id := m.o.Migrations.CurrentID(ctx, to.Chat)
	scope := &models.BotCommandScopeChat{ChatID: id}
	general := m.Commands()
	for _, l := range append([]string{""}, menuLanguages(general)...) {
		all := telegramMenu(slices.Concat(general, commands), l)
		if len(all) == len(telegramMenu(general, l)) {
			all = nil
		}
		menu := &bot.SetMyCommandsParams{Commands: all, Scope: scope, LanguageCode: l}
		if err := m.set(ctx, strconv.FormatInt(id, 10), menu); err != nil {
			return httpclient.NewSendError(err)
		}
	}
	return nil
}
