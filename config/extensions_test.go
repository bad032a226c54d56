package config_test

import (
	"nanobot/channels/discord"
	"nanobot/channels/telegram"
	"nanobot/channels/web"
	"nanobot/config"
	"nanobot/internal/words"
	"nanobot/terminal/acp"
	"nanobot/terminal/blocks"
	"nanobot/terminal/keys"
	"nanobot/terminal/plain"
	"nanobot/terminal/rich"
)

// extensions returns the real channels and protocols of the program, so that the tests check the
// mistakes that people read.
func extensions() config.Extensions {
	all := config.Words{Check: words.CheckOverride}
	for _, key := range words.Keys() {
		all.Keys = append(all.Keys, string(key))
	}
	return config.Extensions{
		Words:     all,
		Commands:  []string{"stop"},
		Channels:  []config.Channel{telegram.Describe(telegram.Timing{}).Channel, discord.Describe().Channel, web.Describe().Channel},
		Protocols: []config.Protocol{plain.Describe().Protocol, rich.Describe().Protocol, acp.Describe().Protocol, keys.Describe().Protocol, keys.DescribeScreen().Protocol, blocks.Describe().Protocol},
	}
}

func telegramSettings(c *config.Config) *telegram.Settings {
	return c.Channels[telegram.Name].(*telegram.Settings)
}
