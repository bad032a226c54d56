package discord

import (
	"fmt"
	"slices"

	"nanobot/channels"
	"nanobot/config"
)

// Settings is the section channels.discord, or an entry of it.
type Settings struct {
	Name      string        `json:"name,omitempty" jsonschema_description:"The name of one of several accounts, whose chats are discord.NAME:ID."`
	Enabled   bool          `json:"enabled" jsonschema_description:"Switches the channel on."`
	Token     config.Secret `json:"token" jsonschema_description:"The bot's token, such as file:token.txt."`
	AllowFrom []string      `json:"allowFrom" jsonschema_description:"Numeric IDs of users who may talk to the bot, or *. Others must be paired."`
	APIBase   string        `json:"apiBase" jsonschema_description:"Another server with Discord's REST API. Default: Discord's own."`
	Groups    string        `json:"groups" jsonschema:"enum=mention,enum=all,enum=off" jsonschema_description:"On servers, the bot answers mentions and replies, everything, or nothing."`
	Thread    bool          `json:"thread" jsonschema_description:"Opens a thread for each conversation on a server."`
}

var (
	_ config.Account      = (*Settings)(nil)
	_ channels.AccessList = (*Settings)(nil)
)

// Describe describes the channel.
func Describe() channels.Description {
	return channels.Description{
		Channel: config.Channel{
			Name: Name, Description: "The Discord bot, or a list of several.",
			New: func() config.ChannelSettings { return &Settings{AllowFrom: []string{}, Groups: "mention"} },
		},
		Token: "a Discord bot", Open: open,
	}
}

func open(o channels.OpenOptions) (channels.Channel, error) {
	s := o.Settings.(*Settings)
	token, err := s.Token.RevealAt("token")
	if err != nil {
		return nil, err
	}
	return New(Options{
		Channel: o.Channel,
		Token:   token, APIBase: s.APIBase, Groups: s.Groups, Thread: s.Thread, People: s.AllowFrom, Admitted: o.Admitted,
		Log: o.Log, Folder: o.Folder,
	})
}

// On reports whether the channel is to run.
func (s *Settings) On() bool { return s.Enabled }

// AccountName returns the name of one of several accounts.
func (s *Settings) AccountName() string { return s.Name }

// OwnValues returns the token.
func (s *Settings) OwnValues() []config.OwnValue {
	if !s.Enabled {
		return nil
	}
	return []config.OwnValue{{Key: "token", Value: string(s.Token), Noun: "token", Scope: s.APIBase}}
}

// Allowed returns who may talk to the bot.
func (s *Settings) Allowed() []string { return s.AllowFrom }

// CheckUserID accepts the numbers that Discord gives to users.
func (*Settings) CheckUserID(id string) error { return channels.CheckNumericID(id) }

// UserIDExample is a number.
func (*Settings) UserIDExample() string { return "123456789" }

// CheckChat accepts the numbers that Discord gives to channels, threads and direct messages.
func (*Settings) CheckChat(id string) error {
	if n := parseSnowflake(id); n == 0 || n.String() != id {
		return fmt.Errorf("%q is not the ID of a Discord channel, which is a number such as 112233445566778899", id)
	}
	return nil
}

// CheckChat returns an error if no chat can have an ID.
func (*Channel) CheckChat(id string) error { return (*Settings)(nil).CheckChat(id) }

// Warnings is about an open access list.
func (s *Settings) Warnings(at config.Scope) []string {
	if !s.Enabled {
		return nil
	}
	return channels.WarnAccess(at, s.AllowFrom)
}

// Check finds what is missing or has the wrong form.
func (s *Settings) Check(at config.Scope) []config.Problem {
	return slices.Concat(channels.CheckToken(at, s.Enabled, s.Token), config.CheckURL("apiBase", s.APIBase),
		channels.CheckNumericList(s.AllowFrom))
}
