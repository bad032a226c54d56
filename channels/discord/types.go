package discord

import (
	"cmp"
	"encoding/json"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels"
)

// These types hold what is read of Discord's objects and nothing else: what a later API adds, or
// the library cannot decode, must not cost a message.

type user struct {
	ID         flake  `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name"`
	Bot        bool   `json:"bot"`
}

// member is a user on a server.
type member struct {
	User *user  `json:"user"`
	Nick string `json:"nick"`
}

type attachment struct {
	ID   flake  `json:"id"`
	Name string `json:"filename"`
	Size int64  `json:"size"`
	URL  string `json:"url"`
}

type message struct {
	ID           flake                 `json:"id"`
	Channel      flake                 `json:"channel_id"`
	Guild        flake                 `json:"guild_id"` // only in events
	Type         discordgo.MessageType `json:"type"`
	Author       user                  `json:"author"`
	Member       *member               `json:"member"`
	Webhook      flake                 `json:"webhook_id"`
	Content      string                `json:"content"`
	Mentions     []user                `json:"mentions"`
	MentionRoles []flake               `json:"mention_roles"`
	Attachments  []attachment          `json:"attachments"`
	Embeds       []embed               `json:"embeds"`
	Stickers     []sticker             `json:"sticker_items"`
	Poll         *poll                 `json:"poll"`
	Referenced   *message              `json:"referenced_message"`
	Snapshots    []snapshot            `json:"message_snapshots"`
}

// snapshot is a message that was forwarded.
type snapshot struct {
	Message message `json:"message"`
}

type embed struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	URL         string `json:"url"`
	Fields      []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"fields"`
}

type sticker struct {
	Name string `json:"name"`
}

type poll struct {
	Question pollText `json:"question"`
	Answers  []struct {
		Text pollText `json:"poll_media"`
	} `json:"answers"`
}

type pollText struct {
	Text string `json:"text"`
}

// place is a channel or thread as Discord describes it.
type place struct {
	ID     flake                 `json:"id"`
	Type   discordgo.ChannelType `json:"type"`
	Guild  flake                 `json:"guild_id"`
	Parent flake                 `json:"parent_id"`
	Owner  flake                 `json:"owner_id"`
	Last   flake                 `json:"last_message_id"`
}

// server is what Discord's API calls a guild.
type server struct {
	ID          flake   `json:"id"`
	Unavailable bool    `json:"unavailable"`
	Tier        int     `json:"premium_tier"`
	Roles       []role  `json:"roles"`
	Channels    []place `json:"channels"`
	Threads     []place `json:"threads"`
}

type role struct {
	ID   flake `json:"id"`
	Tags struct {
		Bot flake `json:"bot_id"`
	} `json:"tags"`
}

// interaction is a use of a command or a press of a button.
type interaction struct {
	ID        flake                     `json:"id"`
	App       flake                     `json:"application_id"`
	Type      discordgo.InteractionType `json:"type"`
	Token     string                    `json:"token"`
	Guild     flake                     `json:"guild_id"`
	ChannelID flake                     `json:"channel_id"`
	Channel   *place                    `json:"channel"`
	Member    *member                   `json:"member"`
	User      *user                     `json:"user"`
	Message   *message                  `json:"message"`
	Data      interactionData           `json:"data"`
}

type interactionData struct {
	Name     string   `json:"name"`
	Options  []option `json:"options"`
	Resolved struct {
		Attachments map[string]attachment `json:"attachments"`
	} `json:"resolved"`
	CustomID string   `json:"custom_id"`
	Values   []string `json:"values"`
}

type option struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// text is an option's value if it is a string, or "".
func (o option) text() string {
	var s string
	_ = json.Unmarshal(o.Value, &s) // what is no string is none
	return s
}

// by is who has sent an interaction.
func (i *interaction) by() (user, *member) {
	switch {
	case i.Member != nil && i.Member.User != nil:
		return *i.Member.User, i.Member
	case i.User != nil:
		return *i.User, nil
	}
	return user{}, nil
}

// sender is who has said something, by the name that others see.
func sender(u user, m *member) channels.User {
	name := cmp.Or(u.GlobalName, u.Username)
	if m != nil {
		name = cmp.Or(m.Nick, name)
	}
	return channels.User{ID: u.ID.String(), Name: channels.SteadyName(name), Username: u.Username}
}

func isThread(t discordgo.ChannelType) bool {
	switch t {
	case discordgo.ChannelTypeGuildNewsThread, discordgo.ChannelTypeGuildPublicThread, discordgo.ChannelTypeGuildPrivateThread:
		return true
	default:
		return false
	}
}

// hasMessages tells whether people can write in a channel of this type. A forum has none itself;
// its posts are threads.
func hasMessages(t discordgo.ChannelType) bool {
	switch t {
	case discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews, discordgo.ChannelTypeGuildVoice, discordgo.ChannelTypeGuildStageVoice,
		discordgo.ChannelTypeDM, discordgo.ChannelTypeGroupDM:
		return true
	default:
		return isThread(t)
	}
}
