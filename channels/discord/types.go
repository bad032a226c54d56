package discord

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels"
)

// These types have only the used fields of Discord's objects, so that fields that a later API adds
// or the library cannot decode do not make a message undecodable.

type user struct {
	ID         snowflake `json:"id"`
	Username   string    `json:"username"`
	GlobalName string    `json:"global_name"`
	Bot        bool      `json:"bot"`
}

// member is a user on a guild.
type member struct {
	User *user  `json:"user"`
	Nick string `json:"nick"`
}

type attachment struct {
	ID    snowflake `json:"id"`
	Name  string    `json:"filename"`
	Title string    `json:"title"` // the original name, if Discord has changed it
	Size  int64     `json:"size"`
	URL   string    `json:"url"`
}

// displayName is the name that a person gave the file. A title lacks the extension.
func (a attachment) displayName() string {
	name := a.Name
	if ext := filepath.Ext(name); a.Title != "" {
		name = strings.TrimSuffix(a.Title, ext) + ext
	}
	return channels.StripBidi(name)
}

type message struct {
	ID           snowflake              `json:"id"`
	Channel      snowflake              `json:"channel_id"`
	Guild        snowflake              `json:"guild_id"` // only in events
	Type         discordgo.MessageType  `json:"type"`
	Author       user                   `json:"author"`
	Member       *member                `json:"member"`
	Webhook      snowflake              `json:"webhook_id"`
	Flags        discordgo.MessageFlags `json:"flags"`
	Content      string                 `json:"content"`
	Mentions     []user                 `json:"mentions"`
	MentionRoles []snowflake            `json:"mention_roles"`
	Attachments  []attachment           `json:"attachments"`
	Embeds       []embed                `json:"embeds"`
	Stickers     []sticker              `json:"sticker_items"`
	Poll         *poll                  `json:"poll"`
	Referenced   *message               `json:"referenced_message"`
	Edited       string                 `json:"edited_timestamp"`
	Timestamp    string                 `json:"timestamp"`
	Reference    *reference             `json:"message_reference"`
	Snapshots    []snapshot             `json:"message_snapshots"`
}

// reference is the place of the message that another one replies to or forwards.
type reference struct {
	Channel snowflake `json:"channel_id"`
}

// snapshot is a forwarded message. Discord does not say who wrote it.
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

// channelObject is a channel or thread in Discord's API.
type channelObject struct {
	ID     snowflake             `json:"id"`
	Name   string                `json:"name"`
	Type   discordgo.ChannelType `json:"type"`
	Guild  snowflake             `json:"guild_id"`
	Parent snowflake             `json:"parent_id"`
	Owner  snowflake             `json:"owner_id"`
	Last   snowflake             `json:"last_message_id"`
}

// guildObject is a guild in Discord's API.
type guildObject struct {
	ID          snowflake       `json:"id"`
	Unavailable bool            `json:"unavailable"`
	Tier        int             `json:"premium_tier"`
	Locale      string          `json:"preferred_locale"`
	Roles       []role          `json:"roles"`
	Channels    []channelObject `json:"channels"`
	Threads     []channelObject `json:"threads"`
}

type role struct {
	ID   snowflake `json:"id"`
	Tags struct {
		Bot snowflake `json:"bot_id"`
	} `json:"tags"`
}

// interaction is a use of a command or a press of a button.
type interaction struct {
	ID        snowflake                 `json:"id"`
	App       snowflake                 `json:"application_id"`
	Type      discordgo.InteractionType `json:"type"`
	Token     string                    `json:"token"`
	Guild     snowflake                 `json:"guild_id"`
	ChannelID snowflake                 `json:"channel_id"`
	Channel   *channelObject            `json:"channel"`
	Member    *member                   `json:"member"`
	User      *user                     `json:"user"`
	Message   *message                  `json:"message"`
	Data      interactionData           `json:"data"`
	Locale    string                    `json:"locale"` // of the user's app
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
	_ = json.Unmarshal(o.Value, &s) // other types count as ""
	return s
}

// sentBy returns the user of an interaction.
func (i *interaction) sentBy() (user, *member) {
	switch {
	case i.Member != nil && i.Member.User != nil:
		return *i.Member.User, i.Member
	case i.User != nil:
		return *i.User, nil
	}
	return user{}, nil
}

// sender converts a user, with the name that others see.
func sender(u user, m *member) channels.User {
	name := cmp.Or(u.GlobalName, u.Username)
	if m != nil {
		name = cmp.Or(m.Nick, name)
	}
	return channels.User{ID: u.ID.String(), Name: channels.StripBidi(name), Username: u.Username}
}

func isThread(t discordgo.ChannelType) bool {
	switch t {
	case discordgo.ChannelTypeGuildNewsThread, discordgo.ChannelTypeGuildPublicThread,
		discordgo.ChannelTypeGuildPrivateThread:
		return true
	default:
		return false
	}
}

// isPublicThread reports whether everybody who can read the channel can read its thread.
func isPublicThread(t discordgo.ChannelType) bool {
	return isThread(t) && t != discordgo.ChannelTypeGuildPrivateThread
}

// hasMessages reports whether people can write in a channel of this type. A forum has no messages;
// its posts are threads.
func hasMessages(t discordgo.ChannelType) bool {
	switch t {
	case discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews, discordgo.ChannelTypeGuildVoice,
		discordgo.ChannelTypeGuildStageVoice,
		discordgo.ChannelTypeDM, discordgo.ChannelTypeGroupDM:
		return true
	default:
		return isThread(t)
	}
}
