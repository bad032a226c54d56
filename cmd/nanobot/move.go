package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"nanobot/cmd/nanobot/backup"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/state"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
)

func newMove(std stdio) *cobra.Command {
	var to string
	cmd := withConfig(&cobra.Command{
		Use:   "move --to URL [flags]",
		Short: "Copy the state into a PostgreSQL database, while the daemon is stopped",
		Long: `Move copies the state of a stopped daemon into the schema nanobot_BOT of a PostgreSQL database, where BOT is gateway.bot,
and its files into the workspace: messages, undelivered replies, memories, access, schedules and the
conversations of the chat page, with their IDs and times. The password is gateway.storePassword.

The schema must be empty. Either all rows are copied or none is, and the old state stays as it is. Root continues as
the user of the state. Afterwards set gateway.store.

Exit status: 0 copied, 1 not copied, 2 wrong use, 78 bad config or a damaged state.`,
		Example: "  nanobot move --to postgres://nanobot@db.example.org/bots --config /etc/nanobot/mybot/config.json",
		Args:    noArguments,
	}, func(cmd *cobra.Command, cfg *config.Config, _ []string) error {
		ctx, stop := untilSignal(cmd.Context())
		defer stop()
		return moveState(ctx, cfg, to, std)
	})
	cmd.Flags().Var(checkedFlag{&to, func(url string) error {
		if err := config.CheckStoreURL(url); err != nil {
			return exit.Usagef("--to %w", err)
		}
		return nil
	}}, "to", "the `URL` of the database")
	return cmd
}

// checkMove refuses what cannot be moved.
func checkMove(cfg *config.Config, to string) error {
	switch {
	case to == "":
		return exit.Usagef("add --to URL, such as postgres://user@host/database")
	case cfg.Gateway.Store != "":
		return exit.Usagef("gateway.store is set already: move copies the state of a daemon without it")
	case cfg.Gateway.Bot == "":
		return exit.Usagef("set gateway.bot, which names the schema of this bot")
	case !hasState(cfg):
		return fmt.Errorf("there is no state in %s to move: set gateway.store and start the daemon", cfg.Gateway.StateDir)
	}
	return nil
}

// enterMovedState has root continue as the user of the state, who will use the copied files.
func enterMovedState(cfg *config.Config, stderr io.Writer) error {
	owner, err := trust.StateOwner(cfg)
	if err != nil {
		return err
	}
	dir := cfg.Gateway.StateDir
	if owner.UID != 0 && errors.Is(trust.UserOf(owner).Access(dir, unix.X_OK), unix.EACCES) {
		return fmt.Errorf("the state belongs to a user that systemd has made up (DynamicUser=): give the unit a user of "+
			"its own and start it once, as deploy/README.md says; the members of all machines need the same one (%s)", dir)
	}
	return trust.BecomeOwner(cfg, owner, stderr)
}

// moveState copies the state into a database.
func moveState(ctx context.Context, cfg *config.Config, to string, std stdio) (err error) {
	if err := checkMove(cfg, to); err != nil {
		return err
	}
	moved := *cfg
	moved.Gateway.Store, moved.Gateway.Member.Name = to, "move"
	from, shared := cfg.Gateway.StateDir, moved.SharedDir()
	o, err := databaseOptions(&moved) // root may have to read the password
	if err == nil {
		err = enterMovedState(cfg, std.err)
	}
	if err != nil {
		return err
	}
	old, err := openStore(ctx, cfg, false) // has the daemon's lock
	if err != nil {
		return fmt.Errorf("nothing was copied: %w", err)
	}
	defer func() { err = errors.Join(err, closeStore(old)) }()
	tables, files, err := backup.Move(ctx, o, from, shared, stateFolders())
	if err != nil {
		return fmt.Errorf("no rows were copied; files may be in %s, and another try replaces them: %w", shared,
			state.Explain(cfg, err))
	}
	var rows []string
	for _, t := range tables {
		if t.Rows > 0 {
			rows = append(rows, fmt.Sprintf("%s %d", t.Table, t.Rows))
		}
	}
	fmt.Fprintf(std.out, `Copied to the schema nanobot_%s: %s.
Copied %d files to %s.
Now set gateway.store to %q and start the daemon. The old state in %s is as it was:
never start a daemon without gateway.store on it again, which would answer the same messages,
and remove it when everything works.
`, cfg.Gateway.Bot, strings.Join(rows, ", "), files, shared, to, from)
	return nil
}
