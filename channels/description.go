package channels

import (
	"context"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"nanobot/config"
)

// Description is everything that the program knows about a channel: its section of the config, and
// how to open it. Each network's package has one. Only the list of descriptions in the program's
// wiring names the networks.
type Description struct {
	config.Channel
	// Token names the owner of the secret in the section's key token, such as "a Matrix bot". It is
	// part of the help of the flag of `nanobot bots create` that reads the secret from a file. ""
	// means that the section has no token.
	Token string
	// StateFolders lists the channel's folders in the state folder. Agents must not send files from
	// them, and a backup copies their files one by one.
	StateFolders []string
	// Open creates the channel. It reads the secrets and makes no network call.
	Open func(OpenOptions) (Channel, error)
}

// AccessList is implemented by the settings of a channel that lists the people who may talk to the
// bot. The users of other channels sign in at the HTTP server.
type AccessList interface {
	// Allowed returns the key allowFrom: user IDs, or "*" for everybody.
	Allowed() []string
	// CheckUserID returns why id is not the ID of one user on this network, as a text for the
	// operator.
	CheckUserID(id string) error
	// UserIDExample returns an example of an ID for a command line: "123456789".
	UserIDExample() string
}

// OpenOptions are the parameters of Description.Open.
type OpenOptions struct {
	Channel  string                 // the channel's name: the network's, or NETWORK.NAME of an account with a name
	Settings config.ChannelSettings // of the type that Description.New returns
	StateDir string                 // shared by all members; exists when Run is called, or is created by the channel
	// Database, if not nil, is how to connect to the database that all members share.
	Database *pgx.ConnConfig
	// Folder creates and opens the download folder of a chat. The root has an absolute path.
	Folder func(chatID string) (*os.Root, error)
	// Admitted reports whether a user may talk to the bot. It may be called once the gateway runs.
	Admitted func(userID string) bool
	// State watches the files of the state. It is never nil.
	State StateWatch
	// Requester returns the user of a request that the HTTP server has let through.
	Requester func(*http.Request) (user string, operator bool)
	// SignIns are the sign-ins at the HTTP server; nil if there are none.
	SignIns SignIns
	Log     *zap.Logger
}

// SignIns are the sign-ins of people at the HTTP server.
type SignIns interface {
	// Of returns the name of the sign-in of a request; "" for a script, which has a token.
	Of(*http.Request) string
	// Valid reports whether a sign-in has neither ended nor expired.
	Valid(ctx context.Context, name string) (bool, error)
}

// StateWatch watches the files of the state. In the program it is a *dbfile.Watch, which a channel
// with a database also uses to watch its own files.
type StateWatch interface {
	// Check returns an error once files of the state may be lost or damaged. After that a channel
	// must not acknowledge to its network a message that it has stored there.
	Check() error
}

// HasAccessList reports whether the channel itself lists the people who may talk to the bot.
func (d Description) HasAccessList() bool {
	_, ok := d.New().(AccessList)
	return ok
}

// Enabled reports whether the config switches the channel on.
func (d Description) Enabled(c *config.Config) bool {
	s := c.Channels[d.Name]
	return s != nil && s.On()
}
