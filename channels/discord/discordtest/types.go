package discordtest

import (
	"encoding/json"
	"time"
)

// User is a Discord user.
type User struct {
	ID            string `json:"id"`
	Username      string `json:"username"`
	Discriminator string `json:"discriminator"`
	GlobalName    string `json:"global_name,omitempty"`
	Bot           bool   `json:"bot,omitempty"`
	// Locale is the language of the user's app, which only interactions tell; "": en-US.
	Locale string `json:"-"`
}

// Guild is a Discord server that the bot is a member of.
type Guild struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	OwnerID     string `json:"owner_id"`
	PremiumTier int    `json:"premium_tier"`
	BotRole     string `json:"-"` // the bot's own role; <@&role> mentions the bot
}

// The types of channels that the server supports.
const (
	TextChannel   = 0
	DMChannel     = 1
	PublicThread  = 11
	PrivateThread = 12
	ForumChannel  = 15
)

// Channel is a Discord channel: a text channel, a DM, a forum or a thread.
type Channel struct {
	ID         string          `json:"id"`
	Type       int             `json:"type"`
	GuildID    string          `json:"guild_id,omitempty"`
	Name       string          `json:"name,omitempty"`
	ParentID   string          `json:"parent_id,omitempty"`
	OwnerID    string          `json:"owner_id,omitempty"` // of a thread
	Recipients []User          `json:"recipients,omitempty"`
	LastID     string          `json:"last_message_id,omitempty"`
	Thread     *ThreadMetadata `json:"thread_metadata,omitempty"`
}

// ThreadMetadata has the fields that only threads have.
type ThreadMetadata struct {
	Archived            bool      `json:"archived"`
	AutoArchiveDuration int       `json:"auto_archive_duration"`
	ArchiveTimestamp    time.Time `json:"archive_timestamp"`
	Locked              bool      `json:"locked"`
}

// The types and flags of messages that the server uses.
const (
	TypeDefault       = 0
	TypeThreadCreated = 18
	TypeReply         = 19
	TypeSlash         = 20
	TypeThreadStarter = 21

	FlagHasThread = 1 << 5
	FlagEphemeral = 1 << 6
	FlagLoading   = 1 << 7
	FlagSilent    = 1 << 12
)

// Message is a Discord message in its current state.
type Message struct {
	ID              string       `json:"id"`
	ChannelID       string       `json:"channel_id"`
	GuildID         string       `json:"guild_id,omitempty"` // only in events
	Author          User         `json:"author"`
	Content         string       `json:"content"`
	Timestamp       time.Time    `json:"timestamp"`
	Edited          *time.Time   `json:"edited_timestamp"`
	TTS             bool         `json:"tts"`
	Pinned          bool         `json:"pinned"`
	MentionEveryone bool         `json:"mention_everyone"`
	Mentions        []User       `json:"mentions"`
	MentionRoles    []string     `json:"mention_roles"`
	Attachments     []Attachment `json:"attachments"`
	Embeds          []Embed      `json:"embeds"`
	Components      []Component  `json:"components"`
	Stickers        []Sticker    `json:"sticker_items,omitempty"`
	Type            int          `json:"type"`
	Flags           int          `json:"flags"`
	Nonce           string       `json:"nonce,omitempty"` // only in the response to its creation, and in the event
	Reference       *Reference   `json:"message_reference,omitempty"`
	Referenced      *Message     `json:"referenced_message,omitempty"`
	Thread          *Channel     `json:"thread,omitempty"`
	ApplicationID   string       `json:"application_id,omitempty"`
	WebhookID       string       `json:"webhook_id,omitempty"`
	// Poll and Snapshots (of a forwarded message) are set only by UserPosts, as Discord's JSON.
	Poll      json.RawMessage `json:"poll,omitempty"`
	Snapshots json.RawMessage `json:"message_snapshots,omitempty"`

	Edits   int  `json:"-"` // how often it was edited
	Call    int  `json:"-"` // ID of the call that has sent it; 0 if a user has
	Pinged  bool `json:"-"` // it notified @everyone, roles or users
	Deleted bool `json:"-"`
	// Notified are the IDs of the users whom the message has notified: those whom it mentions, and
	// the recipient of a DM. A message with FlagSilent and an ephemeral one notify nobody; an edit
	// notifies nobody.
	Notified []string `json:"-"`
	// VisibleAt is when the message was first shown with its content. The zero time means that it
	// still shows that the bot is thinking.
	VisibleAt time.Time `json:"-"`
	// VisibleTo is the ID of the only user who sees an ephemeral message; "" means everybody.
	VisibleTo string `json:"-"`
}

// Attachment is a file of a message. Its URL is signed and expires.
type Attachment struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`
	Description string `json:"description,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Size        int64  `json:"size"`
	URL         string `json:"url"`
	ProxyURL    string `json:"proxy_url"`
	Width       int    `json:"width,omitempty"`
	Height      int    `json:"height,omitempty"`

	Content []byte `json:"-"`
}

// Sticker is a sticker of a message.
type Sticker struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Format int    `json:"format_type"`
}

// Reference is the message that another one replies to or forwards.
type Reference struct {
	Type      int    `json:"type,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	ChannelID string `json:"channel_id,omitempty"`
	GuildID   string `json:"guild_id,omitempty"`
	// FailIfNotExists is only in requests. The default is true.
	FailIfNotExists *bool `json:"fail_if_not_exists,omitempty"`
}
