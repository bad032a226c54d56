package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"nanobot/channels"
	"nanobot/channels/web"
	"nanobot/channels/web/history"
	"nanobot/cmd/nanobot/access"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/personal"
	"nanobot/cmd/nanobot/state"
	"nanobot/config"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/httpd"
)

func newExport(std stdio) *cobra.Command {
	var files string
	cmd := withConfig(&cobra.Command{
		Use:   "export [flags] CHANNEL:USER",
		Short: "Print everything that is stored of a person",
		Long: `Export prints one JSON document with everything that is stored of a person: their messages and the answers, files,
memories, questions, schedules, access and sign-ins, usage, records of runs and lines of the audit log. Of groups it
has only what the person wrote and the answers to it. It has no secrets. Rows are as they are stored: times are
microseconds since 1970.

Files are listed with their SHA-256; --files copies them. Run it while the daemon runs or not.
Exit status: 0 printed, 1 nothing is stored of the person, 2 wrong use, 78 bad config.`,
		Example: `  nanobot export ` + personExamples()[0] + ` >person.json
  nanobot export --files person web:ann >person/export.json`,
		Args: oneArgument("the CHANNEL:USER"),
	}, func(cmd *cobra.Command, cfg *config.Config, args []string) error {
		var to *os.Root
		if files != "" { // before the folder can no longer be reached
			err := os.MkdirAll(files, 0o700)
			if err == nil {
				to, err = os.OpenRoot(files)
			}
			if err != nil {
				return err
			}
			defer to.Close() //nolint:errcheck // each file was closed
		}
		return withPerson(cmd.Context(), cfg, args[0], std, func(o personal.Options) error {
			o.Files = to
			return personal.Export(cmd.Context(), o)
		})
	})
	cmd.Flags().StringVar(&files, "files", "", "copy the files of the person into this `folder`")
	_ = cmd.MarkFlagDirname("files")
	return cmd
}

func newForget(std stdio) *cobra.Command {
	var yes bool
	cmd := withConfig(&cobra.Command{
		Use:   "forget [flags] CHANNEL:USER",
		Short: "Remove everything that is stored of a person",
		Long: `Forget removes what "nanobot export" prints, and the folders of the person's private chats, while the daemon runs or
not. Waiting messages are dropped, running turns and agents of their chats end, and the person loses the access that
they have by pairing or a sign-in link. Messages that come later are new ones. Records of runs keep their hashes and
lose their text. Usage stays, as that of nobody. IDs of received messages stay for 90 days, so that none is received
twice.

It writes the databases again, which takes a moment if they are large. It cannot change backups, and says what else
it has not changed. After an error or an interrupt, run it again.
Exit status: 0 removed, 1 not removed or nothing is stored, 2 wrong use, 78 bad config.`,
		Example: `  nanobot forget ` + personExamples()[0] + `
  nanobot forget --yes web:ann`,
		Args: oneArgument("the CHANNEL:USER"),
	}, func(cmd *cobra.Command, cfg *config.Config, args []string) error {
		if !yes && !term.IsTerminal(int(std.in.Fd())) {
			return exit.Usagef("forget: there is no terminal to ask on; add --yes to remove everything that is stored of %s",
				args[0])
		}
		ctx, stop := untilSignal(cmd.Context())
		defer stop()
		return withPerson(ctx, cfg, args[0], std, func(o personal.Options) error {
			name := o.Person.Channel + ":" + o.Person.User
			err := personal.Forget(ctx, o, func() error {
				if yes {
					return nil
				}
				return confirmForget(name, std)
			})
			if err != nil {
				return err
			}
			for _, line := range notForgotten(cfg, o.Person) {
				fmt.Fprintln(std.out, line)
			}
			return nil
		})
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// confirmForget asks on a terminal whether to forget a person.
func confirmForget(name string, std stdio) error {
	fmt.Fprintf(std.out, "Remove everything that is stored of %s? It cannot be undone. Type yes: ", name)
	answer, _ := bufio.NewReader(std.in).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("nothing was removed")
	}
	return nil
}

// withPerson calls f with what is stored besides a person of CHANNEL:USER, as the owner of the
// state.
func withPerson(ctx context.Context, cfg *config.Config, text string, std stdio, f func(personal.Options) error) error {
	who, err := parseAnyPerson(text)
	if err != nil {
		return exit.Usagef("%w", err)
	}
	if !hasState(cfg) {
		return fmt.Errorf("nothing is stored of %s: the daemon was never started", text)
	}
	return asStateOwner(cfg, std, func() (err error) {
		if _, err := os.Stat(cfg.Workspace); err != nil {
			return fmt.Errorf("the files of people cannot be reached: %w; run this as the user of the daemon", err)
		}
		db, err := openStore(ctx, cfg, true)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeStore(db)) }()
		page, err := openPageHistory(cfg, who.Channel)
		if err != nil {
			return err
		}
		if page != nil {
			defer func() { err = errors.Join(err, page.Close()) }()
		}
		opened := accessOptions(cfg, std)
		return f(personal.Options{
			Config: cfg, Store: db, History: page, Audit: audit.Options{Path: cfg.Audit.File}, Person: who, Out: std.out,
			Recordings:  recordFolders(cfg),
			StopTimeout: access.StopTimeout,
			DaemonRuns:  func(ctx context.Context) bool { return opened.DaemonRuns(ctx, db) },
		})
	})
}

// parseAnyPerson reads CHANNEL:USER, also of a channel whose people sign in.
func parseAnyPerson(text string) (store.Person, error) {
	channel, id, _ := strings.Cut(strings.TrimSpace(text), ":")
	n, known := findNetwork(channel)
	if !known {
		return parsePerson(text)
	}
	if _, ok := n.New().(channels.AccessList); ok {
		return parsePerson(text)
	}
	if err := httpd.CheckUserName(id); err != nil {
		return store.Person{}, fmt.Errorf("%s:USER: %w", channel, err)
	}
	return store.Person{Channel: channel, User: id}, nil
}

// openPageHistory opens the history of the chat page for its people; nil: there is none.
func openPageHistory(cfg *config.Config, channel string) (*history.History, error) {
	dir := filepath.Join(cfg.SharedDir(), state.Web)
	if channel != web.Name {
		return nil, nil //nolint:nilnil // nothing of others is in it
	}
	server, err := channelDatabase(cfg)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, history.Database)); server == nil && errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // the page was never used
	}
	return history.Open(dir, history.Options{Server: server})
}

// notForgotten says what still has something of a person who was forgotten.
func notForgotten(cfg *config.Config, who store.Person) (lines []string) {
	name := who.Channel + ":" + who.User
	if keys := keysNaming(cfg, who); len(keys) > 0 {
		lines = append(lines, fmt.Sprintf("%s still has it: %s. Change that and reload the config (SIGHUP).", cfg.File(),
			strings.Join(keys, ", ")))
	}
	copies := filepath.Join(cfg.Gateway.StateDir, sqlite.Copies)
	entries, _ := os.ReadDir(copies) // without the folder there are none
	for _, entry := range entries {
		lines = append(lines, "This copy of an earlier state is unchanged: "+filepath.Join(copies, entry.Name()))
	}
	lines = append(lines, fmt.Sprintf("Backups that you have made still have %s, until you delete them.", name))
	if cfg.Gateway.Store != "" {
		lines = append(lines,
			"So do the write-ahead log, the standbys and the backups of the PostgreSQL server, which are yours.",
			"The audit log, recorded turns and folders of chats were changed on this host only: run this on each host of a "+
				"member.")
	}
	return lines
}

// keysNaming returns the keys of the config that name a person, or admit everybody to their
// channel.
func keysNaming(cfg *config.Config, who store.Person) (keys []string) {
	if list := allowFrom(cfg, who.Channel); slices.Contains(list, who.User) || slices.Contains(list, "*") {
		keys = append(keys, cfg.ChannelKey(who.Channel)+".allowFrom")
	}
	text, _ := json.Marshal(cfg)
	var tree any
	_ = json.Unmarshal(text, &tree)
	walkConfig(tree, "", func(path, value string) {
		if value == who.Channel+":"+who.User || strings.Contains(path, ".match.user") && value == who.User {
			keys = append(keys, path)
		}
	})
	slices.Sort(keys)
	return slices.Compact(keys)
}

// walkConfig calls f with the texts in a config, and the paths of the keys that contain them.
func walkConfig(node any, path string, f func(path, value string)) {
	switch node := node.(type) {
	case string:
		f(path, node)
	case []any:
		for i, value := range node {
			at := path
			if _, ok := value.(map[string]any); ok {
				at += "." + strconv.Itoa(i)
			}
			walkConfig(value, at, f)
		}
	case map[string]any:
		for key, value := range node {
			walkConfig(value, strings.TrimPrefix(path+"."+key, "."), f)
		}
	}
}
