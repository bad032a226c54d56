package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"nanobot/channels/web"
	"nanobot/cmd/nanobot/access"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/state"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/httpd"
	"nanobot/internal/words"
	"nanobot/terminal/process"
	"nanobot/terminal/rich"
)

func newWeb(std stdio) *cobra.Command {
	var flags webFlags
	var agent agentFlags
	cmd := &cobra.Command{
		Use:   "web [flags] [COMMAND...]",
		Short: "Talk to a program, or the agent of this folder, in your browser",
		Long: `Web runs the daemon with the chat page, on this machine only. It prints a sign-in link and opens it in your browser.
With a COMMAND it runs that program for each message, in this folder and without a config, and stores the chats in
.nanobot. Without one it uses the config of this folder, as serve does, with the page enabled. Quote a COMMAND that
has options of its own. What the program prints is shown; with the protocol rich, the default, it may also print
frames. A change of the program's file is seen with the next message. Ctrl-C ends it.`,
		Example: `  nanobot web                                      # the agent of config.json
  nanobot web 'python3 agent.py'
  nanobot web 'claude -p'                          # the message is its prompt
  nanobot web --protocol acp claude-agent-acp
  nanobot web --protocol screen htop               # a program that needs a terminal`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadForWeb(cmd, agent, args)
			if err != nil {
				return err
			}
			if cfg.File() == "" && cfg.Terminal.Command == "" && cfg.Terminal.Enabled == nil {
				return flags.openCommand(cmd.Context(), cfg, std)
			}
			return flags.run(cmd.Context(), cfg, std, func(context.Context, string) error { return nil })
		},
	}
	cmd.SetFlagErrorFunc(explainCommandFlagError)
	addConfigFlag(cmd, &agent.config)
	agent.addProtocol(cmd)
	flags.add(cmd)
	return cmd
}

// explainCommandFlagError explains an unknown flag, which may be meant for the COMMAND.
func explainCommandFlagError(cmd *cobra.Command, err error) error {
	if err = explainFlagError(cmd, err); cmd.Flags().NArg() == 0 {
		return err
	}
	return exit.Usagef("%w; %s", err, quoteHint)
}

// quoteHint says how an option after a COMMAND becomes the COMMAND's own, such as -c of python3.
const quoteHint = "quote a COMMAND that has options of its own, as in nanobot web 'htop -d 5'"

// loadForWeb returns the config of web: that of a file, or one for a command.
func loadForWeb(cmd *cobra.Command, flags agentFlags, args []string) (*config.Config, error) {
	path := configPath(flags.config)
	if len(args) > 0 {
		if flags.config != "" {
			return nil, exit.Usagef("--config cannot be combined with a COMMAND; %s", quoteHint)
		}
		if strings.TrimSpace(args[0]) == "" {
			return nil, exit.Usagef("COMMAND: must not be empty")
		}
		path = ""
	}
	environ := os.Environ()
	if path == "" {
		// The state of a bot with a config here stays untouched: without its channels, its messages
		// could not be delivered.
		environ = append([]string{"STATE_DIRECTORY=" + filepath.Join(".nanobot", "command")}, environ...)
	}
	cfg, err := config.Load(path, environ, extensions())
	if err != nil {
		return nil, err
	}
	if err := trust.CheckAgent(cfg); err != nil {
		return nil, err
	}
	if path == "" {
		cfg.SetProtocol(rich.Name)
	}
	if len(args) > 0 {
		if err := setCommand(cfg, "COMMAND", joinCommand(args)); err != nil {
			return nil, err
		}
	}
	if cmd.Flags().Changed("protocol") {
		cfg.SetProtocol(flags.protocol)
	}
	if len(args) > 0 {
		cfg.FitStdin()
	}
	return cfg, nil
}

// joinCommand returns the arguments as one line of shell: a single argument is one already.
func joinCommand(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = format.ShellWord(arg)
	}
	return strings.Join(words, " ")
}

// webFlags are the flags of web, dev and demo.
type webFlags struct {
	listen string
	quiet  bool
	extend func(*daemon) // changes the daemon before it runs; nil: it stays as it is
}

func (f *webFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(checkedFlag{&f.listen, checkLoopback}, "listen",
		"address of the chat page, such as 127.0.0.1:8080 (default: http.listen, else any free port)")
	cmd.Flags().BoolVar(&f.quiet, "no-browser", false, "print the link without opening a browser")
}

// run runs the daemon with the chat page until it is stopped. greet is called with the address of
// the page before its link is printed.
func (f webFlags) run(ctx context.Context, cfg *config.Config, std stdio,
	greet func(ctx context.Context, base string) error,
) error {
	if err := f.enablePage(cfg); err != nil {
		return err
	}
	temporary, err := ensureWritable(cfg, std.err)
	if err != nil {
		return err
	}
	end := "Ctrl-C ends nanobot. The chats stay in "
	if temporary != "" {
		end = "Ctrl-C ends nanobot and removes the chats in "
		defer func() { _ = os.RemoveAll(temporary) }()
	}
	// NoSubreaper: the supervisor must not reap the browser.
	d := daemon{cfg: cfg, supervisor: process.NewSupervisor(process.SupervisorOptions{NoSubreaper: true})}
	defer d.supervisor.Close()
	d.log, d.level = newDaemonLog(std.err, cfg.Log)
	d.ready = func(s *site) {
		base := "http://" + s.server.Addr().String()
		if err := greet(ctx, base); err != nil {
			d.log.Warn("first message not sent", zap.Error(err))
		}
		links := &signInLinks{grants: s.access.Grants(), base: base, out: std.out}
		link, err := links.printLink(ctx)
		if err != nil {
			d.log.Error("sign-in link not made", zap.Error(err))
			return
		}
		fmt.Fprintln(std.out, end+cfg.Gateway.StateDir)
		s.access.OfferLinks(links.offer)
		f.browse(ctx, cfg, link)
	}
	if f.extend != nil {
		f.extend(&d)
	}
	err = d.run(ctx)
	switch {
	case errors.Is(err, store.ErrLocked):
		return f.openRunning(ctx, cfg, std, err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("another program uses %s: choose another port, or --listen 127.0.0.1:0 for any free one",
			cfg.HTTP.Listen)
	}
	return err
}

// enablePage makes a config serve the chat page on this machine, with only warnings in the
// terminal.
func (f webFlags) enablePage(cfg *config.Config) error {
	if cfg.Log.Level == config.Default().Log.Level {
		cfg.Log.Level = "warn"
	}
	cfg.Channels[web.Name].(*web.Settings).Enabled = true
	cfg.HTTP.Hosts = nil // names of a proxy
	switch {
	case f.listen != "":
		cfg.HTTP.Listen = f.listen
	case cfg.HTTP.Listen == "":
		cfg.HTTP.Listen = "127.0.0.1:0"
	}
	if !cfg.HTTP.LoopbackOnly() {
		return exit.Usagef("other machines can reach http.listen (%s); add --listen 127.0.0.1:0, or use nanobot serve",
			cfg.HTTP.Listen)
	}
	return nil
}

// checkLoopback accepts addresses that only this machine can reach.
func checkLoopback(address string) error {
	if h := (config.HTTP{Listen: address}); !h.ValidListen() || !h.LoopbackOnly() {
		return errors.New("must be an address of this machine only, such as 127.0.0.1:8080")
	}
	return nil
}

// ensureWritable moves the chats of a command into a temporary folder if its folder is read-only.
// It returns the temporary folder, which the caller removes, or "".
func ensureWritable(cfg *config.Config, stderr io.Writer) (temporary string, err error) {
	err = unix.Access(cfg.Workspace, unix.W_OK)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if cfg.File() != "" {
		return "", exit.Error{Status: exit.Config, Err: fmt.Errorf(
			"%s: the workspace %s is read-only (%w): agents and chats need a folder that this user can write to",
			cfg.File(), cfg.Workspace, err)}
	}
	dir, err := os.MkdirTemp("", "nanobot-")
	if err != nil {
		return "", fmt.Errorf("make a temporary folder, since %s is read-only: %w", cfg.Workspace, err)
	}
	fmt.Fprintf(stderr, "nanobot: %s is read-only, so the chats are in a temporary folder and are removed at the end.\n",
		cfg.Workspace)
	t := &cfg.Terminal
	t.Cwd, t.MediaRoots = cfg.Workspace, []string{cfg.Workspace, dir, os.TempDir()}
	cfg.Workspace, cfg.Gateway.StateDir = dir, filepath.Join(dir, ".nanobot")
	if cfg.Audit.On() {
		cfg.Audit.File = filepath.Join(cfg.Gateway.StateDir, "audit.jsonl")
	}
	return dir, nil
}

// openCommand offers the page of a command that already runs in this folder, for web without a
// COMMAND and without a config.
func (f webFlags) openCommand(ctx context.Context, cfg *config.Config, std stdio) error {
	if _, err := os.Lstat(filepath.Join(cfg.Gateway.StateDir, state.Page)); err == nil {
		err = asStateOwner(cfg, std, func() error {
			release, err := sqlite.Lock(cfg.Gateway.StateDir)
			if err != nil {
				return err
			}
			return release() // the file is that of a daemon that was killed
		})
		if errors.Is(err, store.ErrLocked) {
			return f.openRunning(ctx, cfg, std, err)
		}
	}
	return exit.Usagef("web: there is no config.json in this folder; add a COMMAND such as 'python3 agent.py', "+
		"run %q to write a first agent, or try %q", "nanobot init", "nanobot demo")
}

// openRunning offers the page of the daemon that already uses the state. locked is returned if it
// has none.
func (f webFlags) openRunning(ctx context.Context, cfg *config.Config, std stdio, locked error) error {
	return asStateOwner(cfg, std, func() error {
		base, err := os.ReadFile(filepath.Join(cfg.Gateway.StateDir, state.Page))
		if err != nil {
			return fmt.Errorf("%w: it has no chat page", locked)
		}
		s, err := openStore(ctx, cfg, true)
		if err != nil {
			return err
		}
		defer func() { _ = closeStore(s) }() // the link is stored
		pid, _ := os.ReadFile(filepath.Join(cfg.Gateway.StateDir, sqlite.LockFile))
		fmt.Fprintf(std.out, "nanobot already runs in this folder (process %s). To run another program here, end it first.\n",
			strings.TrimSpace(string(pid)))
		links := &signInLinks{grants: httpd.Grants{Records: s}, base: strings.TrimSpace(string(base)), out: std.out}
		link, err := links.printLink(ctx)
		if err != nil {
			return err
		}
		f.browse(ctx, cfg, link)
		return nil
	})
}

// browse opens a link by a file in the state, which the daemon that holds the state's lock removes.
func (f webFlags) browse(ctx context.Context, cfg *config.Config, link string) {
	if !f.quiet {
		openBrowser(ctx, link, filepath.Join(cfg.Gateway.StateDir, state.OpenPage))
	}
}

// announcePage writes the address of the chat page to a file in the state folder, for web in the
// same folder. withdraw removes the file and that of browse, whose link is used or will expire. The
// caller must hold the lock of the state.
func announcePage(cfg *config.Config, s *site, log *zap.Logger) (withdraw func()) {
	path := filepath.Join(cfg.Gateway.StateDir, state.Page)
	withdraw = func() {
		_ = os.Remove(path)
		_ = os.Remove(filepath.Join(cfg.Gateway.StateDir, state.OpenPage))
	}
	withdraw() // of a daemon that was killed
	if !web.Describe().Enabled(cfg) {
		return withdraw
	}
	base, err := access.Address(cfg.HTTP)
	if err != nil { // any free port
		base = "http://" + s.server.Addr().String()
	}
	if err := os.WriteFile(path, []byte(base+"\n"), 0o600); err != nil {
		log.Warn("nanobot web cannot find the page", zap.Error(err))
	}
	return withdraw
}

// logLinkCommand logs the address of the chat page, if there is one, and the command that makes a
// link to sign in.
func logLinkCommand(cfg *config.Config, log *zap.Logger) {
	base, err := access.Address(cfg.HTTP)
	if err != nil || !web.Describe().Enabled(cfg) {
		return
	}
	log.Info("chat page is ready: make a link to sign in", zap.String("page", base),
		zap.String("command", "nanobot link --role operator --config "+format.ShellWord(cfg.File())))
}

// signInLinks prints sign-in links.
type signInLinks struct {
	grants httpd.Grants
	base   string
	out    io.Writer

	mu   sync.Mutex
	last string // code of the link that was printed last
}

// printLink prints a new link and returns it.
func (l *signInLinks) printLink(ctx context.Context) (string, error) {
	code, err := l.grants.Make(ctx, "", httpd.Operator)
	if err != nil {
		return "", err
	}
	l.last = code
	link := l.base + httpd.EnterPath + code
	fmt.Fprintf(l.out, "Open this link in a browser. It works once:\n\n  %s\n\n", link)
	return link, nil
}

// offer prints a new link for a browser that is signed out, unless the last one still works.
func (l *signInLinks) offer(ctx context.Context) words.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, unused, err := l.grants.Lookup(ctx, l.last); err == nil && !unused {
		_, err = l.printLink(ctx)
		if err != nil {
			return ""
		}
	}
	return words.SignInTerminalLink
}
