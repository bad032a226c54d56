package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/backup"
	"nanobot/cmd/nanobot/state"
	"nanobot/config"
)

func newBackup(std stdio) *cobra.Command {
	var force bool
	cmd := withConfig(&cobra.Command{
		Use:   "backup [flags] FILE",
		Short: "Save the state to one file, while the daemon runs",
		Long: `Backup writes a compressed tar archive for "nanobot restore": messages, undelivered replies with their files,
the access list, conversations of the chat page and its sign-in key. The archive is a consistent snapshot, is
checked, and appears as FILE only when it is complete. With - it goes to standard output.

The archive contains what people wrote, so protect it like the state. It does not contain the config, its
secrets or the workspace; copy those separately.

Exit status: 0 written, 1 not written, 78 bad config or a damaged state.`,
		Example: `  nanobot backup /var/backups/mybot-$(date +%F).tar.gz
  nanobot backup - | ssh elsewhere 'cat > mybot.tar.gz'`,
		Args: oneArgument("the FILE to write, or - for standard output"),
	}, func(cmd *cobra.Command, cfg *config.Config, args []string) error {
		if err := refuseShared(cfg); err != nil {
			return err
		}
		ctx, stop := untilSignal(cmd.Context())
		defer stop()
		o := backupOptions(cfg, std)
		if args[0] == "-" {
			return backup.Write(ctx, o, std.out)
		}
		return backup.WriteFile(ctx, o, args[0], force)
	})
	cmd.Flags().BoolVar(&force, "force", false, "overwrite FILE if it exists")
	return cmd
}

// refuseShared says how a state in PostgreSQL is copied.
func refuseShared(cfg *config.Config) error {
	if cfg.Gateway.Store == "" {
		return nil
	}
	return fmt.Errorf("the state is in PostgreSQL (gateway.store), so save and restore its schema nanobot_%s, or the "+
		"whole database, with the database's own tools, such as pg_dump and pg_restore, and copy the "+
		"workspace, with %s, at the same time", cfg.Gateway.Bot, cfg.SharedDir())
}

// backupOptions returns the options of backup and restore.
func backupOptions(cfg *config.Config, std stdio) backup.Options {
	return backup.Options{Config: cfg, Version: version, Parts: state.Parts(stateFolders()), Stderr: std.err}
}

func newRestore(std stdio) *cobra.Command {
	return withConfig(&cobra.Command{
		Use:   "restore [flags] FILE",
		Short: "Replace the state with a backup, while the daemon is stopped",
		Long: `Restore checks a file of "nanobot backup" and replaces the state with it. Stop the daemon first. Nothing is deleted:
the old state moves to a folder in stateDir/backups.

To go back to an earlier version of nanobot, restore one of the copies in stateDir/backups that were made before
the upgrade; this replaces only the messages.

Messages sent after the backup may be sent again. Messages received after it are lost.

Exit status: 0 restored, 1 not restored, 78 bad config, or a file that is damaged or from a newer nanobot.`,
		Example: "  systemctl stop nanobot@mybot; nanobot restore --config /etc/nanobot/mybot/config.json mybot.tar.gz; " +
			"systemctl start nanobot@mybot",
		Args: oneArgument("the FILE that nanobot backup has written"),
	}, func(cmd *cobra.Command, cfg *config.Config, args []string) error {
		if err := refuseShared(cfg); err != nil {
			return err
		}
		ctx, stop := untilSignal(cmd.Context())
		defer stop()
		return backup.Restore(ctx, backupOptions(cfg, std), args[0])
	})
}
