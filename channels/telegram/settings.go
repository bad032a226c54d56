package telegram

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nanobot/channels"
	"nanobot/channels/telegram/chats"
	"nanobot/channels/telegram/receiving"
	"nanobot/config"
)

// Settings is the section channels.telegram, or an entry of it.
type Settings struct {
	Name      string        `json:"name,omitempty" jsonschema_description:"The name of one of several accounts, whose chats are telegram.NAME:ID."`
	Enabled   bool          `json:"enabled" jsonschema_description:"Switches the channel on."`
	Token     config.Secret `json:"token" jsonschema_description:"The bot's token, such as file:token.txt."`
	AllowFrom []string      `json:"allowFrom" jsonschema_description:"Numeric IDs of users who may talk to the bot, or *. Others must be paired."`
	APIBase   string        `json:"apiBase" jsonschema_description:"The Bot API server."`
	Groups    string        `json:"groups" jsonschema:"enum=mention,enum=all,enum=off" jsonschema_description:"In groups, the bot answers mentions and replies, everything, or nothing."`
	// Rich, Drafts and Reactions are used where the server supports them.
	Rich           string `json:"rich" jsonschema:"enum=auto,enum=off" jsonschema_description:"Sends short answers with tables, headings or task lists as rich messages, if the server can."`
	Drafts         string `json:"drafts" jsonschema:"enum=auto,enum=off" jsonschema_description:"Shows an answer as a draft while it is written, in private chats, if the server can."`
	Reactions      string `json:"reactions" jsonschema:"enum=auto,enum=off" jsonschema_description:"Reacts to messages in groups to show their state, where the chat allows it."`
	GroupDocuments bool   `json:"groupDocuments" jsonschema_description:"Sends several documents or audio files as an album."`
	// MaxDownload is in bytes.
	MaxDownload int64  `json:"maxDownload" unit:"bytes" jsonschema:"minimum=0,maximum=2097152000" jsonschema_description:"Largest received file in bytes; 0: what the server allows, 20 MB on Telegram's own."`
	Mode        string `json:"mode" jsonschema:"enum=poll,enum=webhook" jsonschema_description:"How updates arrive; webhook needs webhookUrl and http.listen."`
	// WebhookURL leads, through whatever stands in front, to http.listen; its path is kept.
	WebhookURL    string        `json:"webhookUrl" jsonschema_description:"Public URL for updates, such as https://bot.example.com/telegram."`
	WebhookSecret config.Secret `json:"webhookSecret" jsonschema_description:"What Telegram sends with each update: 1 to 256 letters, digits, _ and -. Default: derived from the token."`
}

var (
	_ config.Account      = (*Settings)(nil)
	_ config.HTTPUser     = (*Settings)(nil)
	_ channels.AccessList = (*Settings)(nil)
)

// stateFolder is the folder in the state folder in which earlier versions kept updates until they
// were received, which groups have moved, and which bot this is. Run imports and removes it.
const stateFolder = "telegram-updates"

// Describe describes the channel. Timing is for tests; its zero value is what Telegram wants.
func Describe(timing Timing) channels.Description {
	return channels.Description{
		Channel: config.Channel{
			Name: Name, Description: "The Telegram bot, or a list of several.",
			New: func() config.ChannelSettings {
				return &Settings{
					AllowFrom: []string{}, APIBase: DefaultAPI, Groups: "mention", Mode: "poll", Rich: "auto",
					Drafts: "auto", Reactions: "auto",
				}
			},
		},
		Token: "a Telegram bot", StateFolders: []string{stateFolder},
		Open: func(o channels.OpenOptions) (channels.Channel, error) { return open(o, timing) },
	}
}

func open(o channels.OpenOptions, timing Timing) (channels.Channel, error) {
	s := o.Settings.(*Settings)
	token, err := s.Token.RevealAt("token")
	secret, secretErr := s.WebhookSecret.RevealAt("webhookSecret")
	if err := errors.Join(err, secretErr); err != nil {
		return nil, err
	}
	legacy := filepath.Join(o.StateDir, stateFolder)
	if s.Name != "" {
		legacy = "" // earlier versions had one account
	}
	return New(Options{
		Channel: o.Channel,
		Token:   token, APIBase: s.APIBase, Groups: s.Groups, Mode: s.Mode, MaxDownload: s.MaxDownload, Admitted: o.Admitted,
		Log: o.Log, Timing: timing,
		WebhookURL: s.WebhookURL, WebhookSecret: secret, LegacyState: legacy,
		Folder: o.Folder,
		NoRich: s.Rich == "off", NoDrafts: s.Drafts == "off", NoReactions: s.Reactions == "off",
		GroupDocuments: s.GroupDocuments,
	})
}

// On reports whether the channel is to run.
func (s *Settings) On() bool { return s.Enabled }

// AccountName returns the name of one of several accounts.
func (s *Settings) AccountName() string { return s.Name }

// OwnValues returns the token, and the path of the webhook.
func (s *Settings) OwnValues() []config.OwnValue {
	if !s.Enabled {
		return nil
	}
	own := []config.OwnValue{{Key: "token", Value: string(s.Token), Noun: "token", Scope: s.APIBase}}
	if u, err := url.Parse(s.WebhookURL); err == nil && s.Mode == "webhook" && s.WebhookURL != "" {
		own = append(own, config.OwnValue{Key: "webhookUrl", Value: cmp.Or(u.Path, "/"), Noun: "path"})
	}
	return own
}

// Allowed returns who may talk to the bot.
func (s *Settings) Allowed() []string { return s.AllowFrom }

// CheckUserID accepts the numbers that Telegram gives to users.
func (*Settings) CheckUserID(id string) error { return channels.CheckNumericID(id) }

// UserIDExample is a number.
func (*Settings) UserIDExample() string { return "123456789" }

// CheckChat accepts the numbers of chats, and those of topics.
func (*Settings) CheckChat(id string) error {
	if a, err := chats.ParseAddress(id); err != nil || a.String() != id {
		return fmt.Errorf("%q is not the ID of a Telegram chat, which is a number such as 123456789, or -1001234567890_7 "+
			"for a topic of a group", id)
	}
	return nil
}

// LocateChat returns the group and the number of a topic, and whether a chat is a group.
func (*Settings) LocateChat(id string) (parent, topic string, group bool) {
	a, err := chats.ParseAddress(id)
	if err != nil || a.Thread == 0 {
		return "", "", a.IsGroup()
	}
	return chats.Address{Chat: a.Chat}.String(), strconv.Itoa(a.Thread), a.IsGroup()
}

// LocateChat is Settings.LocateChat.
func (*Channel) LocateChat(id string) (parent, topic string, group bool) {
	return (*Settings)(nil).LocateChat(id)
}

// LinkMessage returns the address of a message of a supergroup or channel, for its members.
// Messages of other chats have none.
func (*Channel) LinkMessage(chat channels.Chat, _ bool, id string) string {
	home, err := chats.ParseAddress(chat.ID)
	if err != nil {
		return ""
	}
	return chats.Link(home, id)
}

// CheckChat returns an error if no chat can have an ID.
func (*Channel) CheckChat(id string) error { return (*Settings)(nil).CheckChat(id) }

// NeedsHTTP returns the mode in which Telegram calls the bot.
func (s *Settings) NeedsHTTP() *config.HTTPNeed {
	if s.Mode != "webhook" {
		return nil
	}
	return &config.HTTPNeed{Key: "mode", Value: `"webhook"`}
}

// Warnings is about an open access list, and a webhook that is not used.
func (s *Settings) Warnings(at config.Scope) []string {
	if !s.Enabled {
		return nil
	}
	all := channels.WarnAccess(at, s.AllowFrom)
	if s.WebhookURL != "" && s.Mode != "webhook" {
		all = append(all, fmt.Sprintf(`%s is set and not used, because %s is "poll"`, at.Key("webhookUrl"), at.Key("mode")))
	}
	return all
}

// Check finds what is missing or Telegram would refuse.
func (s *Settings) Check(at config.Scope) []config.Problem {
	return slices.Concat(
		channels.CheckToken(at, s.Enabled, s.Token), config.CheckURL("apiBase", s.APIBase),
		channels.CheckNumericList(s.AllowFrom), s.checkWebhook(at),
	)
}

// checkWebhook finds what Telegram would refuse, or could not reach us by.
func (s *Settings) checkWebhook(at config.Scope) []config.Problem {
	var all []config.Problem
	key := []string{"webhookUrl"}
	if s.WebhookURL != "" {
		if want := s.webhookURLProblem(); want != "" {
			all = append(all, config.Problem{Path: key, Text: want, HideValue: config.LooksLikeSecret(s.WebhookURL)})
		}
	} else if s.Enabled && s.Mode == "webhook" {
		all = append(all, config.Problem{
			Path: key, Cause: []string{"mode"},
			Text: fmt.Sprintf(`must be set, because %s is "webhook"`, at.Key("mode")),
		})
	}
	secret := string(s.WebhookSecret)
	if !s.WebhookSecret.IsReference() && secret != "" && !receiving.IsWebhookSecret(secret) {
		all = append(all, config.Problem{Path: []string{"webhookSecret"}, Text: "must be 1 to 256 letters, digits, _ or -"})
	}
	return all
}

// webhookURLProblem says what the webhook's address should be, or "". A self-hosted Bot API server
// accepts any.
func (s *Settings) webhookURLProblem() string {
	u, err := url.Parse(s.WebhookURL)
	base, _ := url.Parse(s.APIBase)
	telegrams := base == nil || s.APIBase == "" || strings.EqualFold(base.Hostname(), "api.telegram.org")
	switch {
	case err != nil || !config.IsURL(s.WebhookURL) || u.User != nil:
		return `must be a URL such as "https://bot.example.com/telegram"`
	case !receiving.IsWebhookPath(u):
		return "must have a path of letters, digits and . _ ~ - only, and no query or fragment"
	case telegrams && u.Scheme != "https":
		return `must begin with "https://", because Telegram delivers only to HTTPS`
	case telegrams && !slices.Contains([]string{"", "443", "80", "88", "8443"}, u.Port()):
		return "must use port 443, 80, 88 or 8443, because Telegram delivers to no other port"
	}
	return ""
}
