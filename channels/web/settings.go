package web

import (
	"net/http"
	"path/filepath"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/internal/dbfile"
)

// Settings is the section channels.web.
type Settings struct {
	Enabled   bool `json:"enabled" jsonschema_description:"Switches the chat page on. Needs http.listen."`
	MaxUpload int  `json:"maxUpload" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"Most MiB of all files of one message together."`
}

var (
	_ config.ChannelSettings = (*Settings)(nil)
	_ config.HTTPUser        = (*Settings)(nil)
)

// StateFolder is the folder in the state folder with the conversations.
const StateFolder = "web"

// NewSettings returns the default settings.
func NewSettings() *Settings { return &Settings{MaxUpload: 50} }

// Describe describes the channel.
func Describe() channels.Description {
	return channels.Description{
		Channel: config.Channel{
			Name: Name, Description: "The chat page.", New: func() config.ChannelSettings { return NewSettings() },
		},
		Open: open,
	}
}

func open(o channels.OpenOptions) (channels.Channel, error) {
	s := o.Settings.(*Settings)
	watch, _ := o.State.(*dbfile.Watch) // any other cannot follow databases, and New makes one that can
	return New(Options{
		State: filepath.Join(o.StateDir, StateFolder), MaxUpload: int64(s.MaxUpload) << 20, Watch: watch, Log: o.Log, Folder: o.Folder,
		Who: func(r *http.Request) Person {
			user, operator := o.Requester(r)
			return Person{User: user, Operator: operator}
		},
	})
}

// On reports whether the channel is to run.
func (s *Settings) On() bool { return s.Enabled }

// NeedsHTTP returns that people use the page.
func (s *Settings) NeedsHTTP() *config.HTTPNeed {
	return &config.HTTPNeed{Key: "enabled", Value: "true", ServesPeople: true}
}

// Check has nothing to find: the HTTP server decides who comes in.
func (*Settings) Check(config.Scope) []config.Problem { return nil }

// Warnings are about the HTTP server, and config gives them.
func (*Settings) Warnings(config.Scope) []string { return nil }
