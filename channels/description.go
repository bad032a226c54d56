package channels

import (
	"net/http"
	"os"

	"go.uber.org/zap"

	"nanobot/config"
)

// Description is all that the program knows of a channel: its section of the configuration and how
// it is opened. Each network's package has one; the list of them in the wiring of the program is
// the only place that names the networks.
type Description struct {
	config.Channel
	// Token says what the secret in the key token of the section is of, for the flag of `nanobot
	// bots create` that reads it from a file: "a Matrix bot". "": the section has no such key.
	Token string
	// StateFolders names the folders in the state folder that the channel keeps files in. Agents
	// must not send these files, and a backup copies them one by one.
	StateFolders []string
	// Open makes the channel. It reads the secrets, and makes no network call.
	Open func(Opening) (Channel, error)
}

// AccessList is implemented by the settings of a channel that lists the people who may talk to the
// bot. People come to other channels through the HTTP server, which asks them who they are.
type AccessList interface {
	// Allowed returns the key allowFrom: user IDs, or "*" for everybody.
	Allowed() []string
	// CheckUserID says why id is not the ID of one user on this network, in words for the operator.
	CheckUserID(id string) error
	// UserIDExample shows the form of an ID, in a command line: "123456789".
	UserIDExample() string
}

// Opening is what a channel is opened with.
type Opening struct {
	Settings config.ChannelSettings // of the type that Description.New returns
	StateDir string                 // exists when Run is called, or is made by the channel
	// Folder makes and opens the folder that the files of a chat go to, by an absolute path.
	Folder func(chatID string) (*os.Root, error)
	// Known tells whether a user may talk to the bot, once the gateway runs.
	Known func(userID string) bool
	// State follows the files of the state. Never nil.
	State StateWatch
	// Visitor returns who makes a request that the HTTP server has let through.
	Visitor func(*http.Request) (user string, operator bool)
	Log     *zap.Logger
}

// StateWatch follows the files of the state. In the program it is a *dbfile.Watch, with which a
// channel that has a database follows its own files, too.
type StateWatch interface {
	// Check returns an error once files of the state may be lost or damaged. A channel must not
	// acknowledge to its network what it has stored there after that.
	Check() error
}

// HasAccessList reports whether the channel itself lists the people who may talk to the bot.
func (d Description) HasAccessList() bool {
	_, ok := d.New().(AccessList)
	return ok
}

// Enabled reports whether a configuration lets the channel run.
func (d Description) Enabled(c *config.Config) bool {
	s := c.Channels[d.Name]
	return s != nil && s.On()
}
