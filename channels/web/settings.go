package web

import (
	"fmt"
	"path/filepath"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/internal/dbfile"
)

// Settings is the section channels.web.
type Settings struct {
	Enabled   bool `json:"enabled" jsonschema_description:"Switches the chat page on. Needs http.listen."`
	MaxUpload int  `json:"maxUpload" unit:"MiB" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"Maximum size in MiB of all files of one message together."`
}

var (
	_ config.ChannelSettings = (*Settings)(nil)
	_ config.HTTPUser        = (*Settings)(nil)
)

// StateFolder is the name of the folder with the conversations, in the state folder.
const StateFolder = "web"

// NewSettings returns the default settings.
func NewSettings() *Settings { return &Settings{MaxUpload: 50} }

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
	return New(Options{
		State: filepath.Join(o.StateDir, StateFolder), MaxUpload: int64(s.MaxUpload) << 20, Watch: watch, Log: o.Log,
		Folder: o.Folder, Requester: o.Requester,
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

// CheckChat returns an error if no chat can have an ID.
func (*Channel) CheckChat(id string) error { return (*Settings)(nil).CheckChat(id) }

// NeedsHTTP says that the channel serves people over HTTP.
func (s *Settings) NeedsHTTP() *config.HTTPNeed {
	return &config.HTTPNeed{Key: "enabled", Value: "true", ServesPeople: true}
}

// Check finds nothing: the HTTP server controls access.
func (*Settings) Check(config.Scope) []config.Problem { return nil }

// Warnings returns none: config gives those about the HTTP server.
func (*Settings) Warnings(config.Scope) []string { return nil }
