package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/backup"
	"nanobot/cmd/nanobot/state"
)

func newRestore(std stdio) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "restore [flags] FILE",
		Short: "Put a backup into the place of the state, while the daemon does not run",
		Long: `Restore reads a file of "nanobot backup", checks all of it, and puts it into the place of the state. What was there is moved into a folder of
stateDir/backups, and nothing is deleted. It also takes one of the copies in stateDir/backups that were made before the database's schema
changed, for who goes back to the nanobot before: then only the messages are replaced. Stop the daemon first.

What was sent since the backup may be sent again; what was received since is not in it.

Exit status: 0 restored, 1 not restored, 78 bad config, or a file that is damaged or of a newer nanobot.`,
		Example: "  systemctl stop nanobot@mybot; nanobot restore --config /etc/nanobot/mybot/config.json mybot.tar.gz; systemctl start nanobot@mybot",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends what a pipe that nobody writes holds up
			cfg, err := loadBesideDaemon(path)
			if err != nil {
				return err
			}
			return backup.Restore(ctx, backup.Options{Config: cfg, Version: version, Parts: state.Parts(stateFolders()), Stderr: std.err}, args[0])
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	_ = cmd.MarkFlagFilename("config", "json")
	return cmd
}
