package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/gateway/posts"
	"nanobot/gateway/toolsocket"
)

// postFlags are the flags of send and ask.
type postFlags struct {
	config string
	media  []string
	posts.Request
}

// postStatus is the part of the help of send and ask about the exit status.
const postStatus = `
It needs a running daemon: that of $NANOBOT_SOCKET, which agents have, or that of the config. The daemon's user and
root can name every chat. A process of an agent needs no flags, and reaches only its own chat.

Exit status: 0 the message is on disk (with --wait: delivered), 1 refused, not delivered or no daemon, 2 wrong usage, a
malformed chat or a network that is not configured.`

func newSend(std stdio) *cobra.Command {
	var flags postFlags
	var buttons string
	cmd := &cobra.Command{
		Use:   "send [flags] [TEXT|-]",
		Short: "Send a message to a chat",
		Long: `Send has the daemon send a message to a chat, even if nobody has written there. TEXT is Markdown; with - it is read
from stdin, also without TEXT if stdin is a pipe. A press of a button is the next message of the chat; a button that
begins with a slash is carried out as if the person had typed it.
` + postStatus,
		Example: `  nanobot send --chat telegram:123456789 'The backup is **done**.'
  journalctl -u backup -n 20 | nanobot send --chat telegram:123456789 --silent
  nanobot send --chat telegram:123456789 --media report.pdf --wait 'The weekly report'
  nanobot send --chat telegram:123456789 --buttons 'Again,/run restart-nginx' 'nginx is down.'`,
		Args: atMostOneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("buttons") {
				flags.Buttons = splitButtons(buttons)
			}
			return flags.post(cmd, args, std)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&flags.Silent, "silent", false, "send it without a notification")
	cmd.Flags().StringVar(&buttons, "buttons", "", "texts of buttons below the message, separated by commas")
	return cmd
}

func newAsk(std stdio) *cobra.Command {
	flags := postFlags{Request: posts.Request{Ask: true}}
	cmd := &cobra.Command{
		Use:   "ask [flags] [TEXT|-]",
		Short: "Have an agent work on a message in a chat",
		Long: `Ask gives a message to an agent as if it were written in a chat, where the agent answers. With - the TEXT is read from
stdin, also without TEXT if stdin is a pipe. The agent gets the files with the message. --wait waits for the answer.
` + postStatus,
		Example: `  nanobot ask --chat telegram:123456789 'Summarize the open pull requests.'
  git diff | nanobot ask --chat discord:123456789012345678 --agent reviewer`,
		Args: atMostOneArgument,
		RunE: func(cmd *cobra.Command, args []string) error { return flags.post(cmd, args, std) },
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.Agent, "agent", "", "name of a configured agent (default: the one chosen in the chat)")
	_ = cmd.RegisterFlagCompletionFunc("agent", completeAgents(&flags.config))
	return cmd
}

func (f *postFlags) add(cmd *cobra.Command) {
	addConfigFlag(cmd, &f.config)
	flags := cmd.Flags()
	flags.Var(checkedFlag{&f.Chat, checkChatKey}, "chat", "the chat, CHANNEL:ID (default, in an agent: its own)")
	flags.StringArrayVar(&f.media, "media", nil, "file to send with the message; may be repeated")
	flags.StringVar(&f.Key, "key", "", "a second message with the same key in the chat has no effect")
	flags.BoolVar(&f.Wait, "wait", false, "wait until it is delivered")
}

// checkChatKey accepts CHANNEL:ID.
func checkChatKey(key string) error {
	if _, ok := channels.ParseChat(key); !ok {
		return fmt.Errorf("must be CHANNEL:ID, such as %s", personExamples()[0])
	}
	return nil
}

// splitButtons returns the texts of buttons, which are separated by commas.
func splitButtons(list string) []string {
	all := strings.Split(list, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// post sends the request of a command line to the daemon.
func (f *postFlags) post(cmd *cobra.Command, args []string, std stdio) error {
	if slices.Contains(f.Buttons, "") {
		return exit.Usagef("--buttons: a button has no text")
	}
	if len(f.media) > posts.MaxFiles {
		return exit.Usagef("--media: %d files are the most", posts.MaxFiles)
	}
	var err error
	if f.media, err = absoluteFiles(f.media); err != nil {
		return err
	}
	if f.Text, err = f.readText(args, std.in); err != nil {
		return err
	}
	ctx, stop := untilSignal(cmd.Context(), syscall.SIGHUP)
	defer stop()
	conn, welcome, err := f.dial(ctx)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close() //nolint:errcheck // the replies were read
	files, err := f.openFiles(welcome.Agent)
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	if err != nil {
		return err
	}
	err = f.Send(conn, files)
	return f.awaitReplies(ctx, conn, err)
}

// errNoText is the error of a command line without a message.
var errNoText = errors.New("no message: add a TEXT, - to read it from stdin, or --media")

// readText returns the text of the arguments, or that of stdin for "-". Without arguments and files
// it reads stdin if that is a pipe or a file.
func (f *postFlags) readText(args []string, in *os.File) (string, error) {
	text := strings.Join(args, "")
	if len(args) == 0 && len(f.media) == 0 {
		if info, err := in.Stat(); err != nil || info.Mode().Type()&^(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
			return "", exit.Error{Status: exit.Usage, Err: errNoText}
		}
		text = "-"
	}
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(in, posts.MaxText+1))
		if err != nil {
			return "", fmt.Errorf("read message from stdin: %w", err)
		}
		text = strings.TrimRight(string(b), "\r\n")
	}
	switch {
	case len(text) > posts.MaxText:
		return "", exit.Usagef("the message has more than %d bytes; send it as a file with --media", posts.MaxText)
	case strings.TrimSpace(text) == "" && len(f.media) == 0:
		return "", exit.Error{Status: exit.Usage, Err: errNoText}
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

// dial connects to the daemon at $NANOBOT_SOCKET, or to that of the config.
func (f *postFlags) dial(ctx context.Context) (*net.UnixConn, toolsocket.Welcome, error) {
	path := os.Getenv(config.SocketVariable)
	if path == "" || f.config != "" {
		cfg, err := loadForCommand(f.config)
		if err != nil {
			return nil, toolsocket.Welcome{}, err
		}
		path, err = findSocket(ctx, cfg.Gateway.StateDir)
		if errors.Is(err, errNoDaemon) {
			err = cmp.Or(checkConfigured(cfg, f.Chat), explainNoDaemon(cfg))
		}
		if err != nil {
			return nil, toolsocket.Welcome{}, err
		}
	}
	conn, welcome, err := toolsocket.DialPost(ctx, path, newHello())
	if err != nil {
		return nil, welcome, fmt.Errorf("connect to the daemon: %w", err)
	}
	return conn, welcome, nil
}

// explainNoDaemon returns the error of a command that needs the daemon on this machine.
func explainNoDaemon(cfg *config.Config) error {
	if cfg.Gateway.Store != "" {
		return fmt.Errorf("no member of gateway.store uses %s on this machine; start it with nanobot serve, or run this on "+
			"the machine of a member that is up, which nanobot members lists", cfg.Gateway.StateDir)
	}
	return fmt.Errorf("no daemon uses the state %s; start it with nanobot serve", cfg.Gateway.StateDir)
}

// checkConfigured returns an error if the channel of a chat is not enabled in a config.
func checkConfigured(cfg *config.Config, key string) error {
	chat, ok := channels.ParseChat(key)
	enabled := func(n channels.Description) bool { return n.Name == chat.Channel }
	if !ok || slices.ContainsFunc(enabledChannels(cfg), enabled) {
		return nil
	}
	return exit.Usagef("--chat: the channel %s is not enabled in %s", chat.Channel, cfg.File())
}

// openFiles opens the files of the operator, and sets their names in the request. The daemon opens
// those of an agent itself.
func (f *postFlags) openFiles(agent bool) (files []*os.File, err error) {
	f.Files = f.media
	if agent {
		return nil, nil
	}
	f.Files = nil
	for _, path := range f.media {
		// Something else may have replaced the file meanwhile; a FIFO must not block.
		file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
		if err != nil {
			return files, exit.Usagef("--media: %w", err)
		}
		files, f.Files = append(files, file), append(f.Files, filepath.Base(path))
	}
	return files, nil
}

const (
	// replyTimeout is how long the daemon may take to store a message with its files.
	replyTimeout = 10 * time.Minute
	// maxReply is the longest reply, in bytes.
	maxReply = 64 << 10
)

// awaitReplies returns the error of a message from the daemon's replies. sendErr is that of sending
// the request; the daemon may have refused it before it was sent completely.
func (f *postFlags) awaitReplies(ctx context.Context, conn *net.UnixConn, sendErr error) error {
	_ = conn.SetReadDeadline(time.Now().Add(replyTimeout))
	in := bufio.NewReaderSize(conn, maxReply)
	reply, err := posts.ReceiveReply(in)
	switch {
	case ctx.Err() != nil:
		return exit.Error{Status: exit.Interrupted, Err: errors.New("interrupted; the message may be on disk")}
	case err != nil:
		return fmt.Errorf("the daemon does not answer, so the message may not be on disk; repeat it with the same --key: %w",
			cmp.Or(sendErr, err))
	case reply.Usage:
		return exit.Usagef("%s", reply.Error)
	case reply.Error != "":
		return errors.New(reply.Error)
	case !f.Wait:
		return nil
	}
	_ = conn.SetReadDeadline(time.Time{})
	reply, err = posts.ReceiveReply(in)
	switch {
	case ctx.Err() != nil:
		return exit.Error{Status: exit.Interrupted, Err: errors.New("no longer waiting; the message is on disk")}
	case err != nil:
		return errors.New("the daemon has stopped; the message is on disk, and the daemon goes on with it when it runs again")
	case reply.Error != "":
		return errors.New(reply.Error)
	}
	return nil
}
