package main

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/telegram"
	"nanobot/channels/web"
	"nanobot/config"
)

func TestAChatKeyIsCheckedByItsNetwork(t *testing.T) {
	cfg := &config.Config{Channels: map[string]config.ChannelSettings{
		"telegram": &telegram.Settings{Enabled: true}, "web": &web.Settings{Enabled: true}, "discord": &discord.Settings{},
	}}
	for key, want := range map[string]string{
		"telegram:114":         "",
		"telegram:-100123_45":  "",
		"web:web-a":            "",
		"telegram:ann":         `"ann" is not the ID of a Telegram chat`,
		"telegram:+114":        `"+114" is not the ID of a Telegram chat`,
		"telegram:-100123_045": `"-100123_045" is not the ID of a Telegram chat`,
		"web:a":                `"a" is not a chat of the page`,
		"114":                  `such as telegram:123456789 (enabled: telegram, web)`,
		"telegram:":            `such as telegram:123456789 (enabled: telegram, web)`,
		"":                     `such as telegram:123456789 (enabled: telegram, web)`,
		"discord:114":          `a network that is not enabled (enabled: telegram, web)`,
		"matrix:114":           `a network that is not enabled (enabled: telegram, web)`,
	} {
		chat, err := parseChatKey(cfg, key)
		if want == "" && (err != nil || chat.String() != key) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %s, %v; want %q", key, chat, err, want)
		}
	}
	if _, err := parseChatKey(&config.Config{}, "telegram:1"); err == nil || !strings.Contains(err.Error(), "no network is enabled") {
		t.Error(err)
	}
}

func TestEveryNetworkChecksItsChats(t *testing.T) {
	for _, n := range networks {
		if _, ok := n.New().(channels.ChatChecker); !ok {
			t.Errorf("the settings of %s do not check chats", n.Name)
		}
	}
}
