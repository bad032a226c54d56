package web

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/web/history"
	"nanobot/channels/web/page"
	"nanobot/channels/web/push"
	"nanobot/config"
	"nanobot/internal/dbfile"
)

// Settings is the section channels.web.
type Settings struct {
	Enabled   bool   `json:"enabled" jsonschema_description:"Switches the chat page on. Needs http.listen."`
	Name      string `json:"name" jsonschema_description:"The bot's name on the page, up to 60 characters."`
	Picture   string `json:"picture" jsonschema_description:"Its picture: PNG, JPEG, WebP or GIF up to 1 MiB. Default: nanobot's."`
	MaxUpload int    `json:"maxUpload" unit:"MiB" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"Size in MiB of all files of one message."`
	Push      Push   `json:"push"`
}

// Push is the section channels.web.push.
type Push struct {
	Enabled bool     `json:"enabled" jsonschema_description:"Notifications by the push services of the browsers' makers. Needs https or localhost."`
	Allow   []string `json:"allow" jsonschema_description:"Push services at addresses that are not public: hosts, addresses, networks."`
}

var (
	_ config.ChannelSettings = (*Settings)(nil)
	_ config.HTTPUser        = (*Settings)(nil)
)

// StateFolder is the name of the folder with the conversations, in the state folder.
const StateFolder = "web"

// NewSettings returns the default settings.
func NewSettings() *Settings {
	return &Settings{Name: page.DefaultName, MaxUpload: 50, Push: Push{Allow: []string{}}}
}

// Describe describes the channel.
func Describe() channels.Description {
	return channels.Description{
		Channel: config.Channel{
			Name: Name, Description: "The chat page.", New: func() config.ChannelSettings { return NewSettings() },
		},
		Open: openChannel,
	}
}

func openChannel(o channels.OpenOptions) (channels.Channel, error) {
	s := o.Settings.(*Settings)
	watch, _ := o.State.(*dbfile.Watch) // another type cannot watch databases; New then creates a watch that can
	var notifications *push.Options
	if s.Push.Enabled && o.SignIns != nil {
		notifications = &push.Options{Allow: s.Push.Allow, SignedIn: o.SignIns.Valid}
	}
	return New(Options{
		State: filepath.Join(o.StateDir, StateFolder), Server: o.Database, MaxUpload: int64(s.MaxUpload) << 20, Watch: watch,
		Log: o.Log, Folder: o.Folder, Requester: o.Requester, Name: s.Name, Picture: s.Picture,
		Push: notifications, SignIn: signInOf(o.SignIns),
	})
}

// On reports whether the channel is enabled.
func (s *Settings) On() bool { return s.Enabled }

// CheckChat accepts the names of the page's chats.
func (*Settings) CheckChat(id string) error {
	if !chatPattern().MatchString(id) {
		return fmt.Errorf("%q is not a chat of the page, whose name is %s and up to 60 letters, digits, _ and -", id,
			chatPrefix)
	}
	return nil
}

// CheckChat returns an error if no chat can have an ID, or channels.ErrChatDeleted.
func (c *Channel) CheckChat(id string) error {
	if err := (*Settings)(nil).CheckChat(id); err != nil {
		return err
	}
	h, err := c.openHistory()
	if err == nil {
		_, _, err = h.ChatOwner(context.Background(), id)
	}
	if errors.Is(err, history.ErrDeleted) {
		return channels.ErrChatDeleted
	}
	return nil // Send returns any other error, and is repeated
}

// NeedsHTTP says that the channel serves people over HTTP.
func (s *Settings) NeedsHTTP() *config.HTTPNeed {
	return &config.HTTPNeed{Key: "enabled", Value: "true", ServesPeople: true}
}

// Check checks the bot's name and the push services. The HTTP server controls access.
func (s *Settings) Check(config.Scope) (all []config.Problem) {
	if utf8.RuneCountInString(s.Name) > maxName || strings.TrimSpace(s.Name) == "" ||
		strings.ContainsFunc(s.Name, unicode.IsControl) {
		all = append(all, config.Problem{
			Path: []string{"name"}, Text: fmt.Sprintf("must be 1 to %d characters in one line", maxName),
		})
	}
	for i, entry := range s.Push.Allow {
		if err := push.CheckAllowed(entry); err != nil {
			all = append(all, config.Problem{Path: []string{"push", "allow", strconv.Itoa(i)}, Text: err.Error()})
		}
	}
	return all
}

// ResolvePaths makes the path of the picture absolute.
func (s *Settings) ResolvePaths(absolute func(string) string) {
	if s.Picture != "" {
		s.Picture = absolute(s.Picture)
	}
}

// Warnings says why the bot's picture is not shown. Config gives those about the HTTP server.
func (s *Settings) Warnings(at config.Scope) []string {
	if s.Picture == "" {
		return nil
	}
	if _, err := loadPicture(s.Picture); err != nil {
		return []string{fmt.Sprintf("%s: %v; the page shows that of nanobot", at.Key("picture"), err)}
	}
	return nil
}
