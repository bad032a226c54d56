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

func newBackup(std stdio) *cobra.Command {
	var path string
	var force bool
	cmd := &cobra.Command{
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
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends the process even while it writes to a full pipe
			cfg, err := loadForCommand(path)
			if err != nil {
				return err
			}
			o := backup.Options{Config: cfg, Version: version, Parts: state.Parts(stateFolders()), Stderr: std.err}
			if args[0] == "-" {
				return backup.Write(ctx, o, std.out)
			}
			return backup.WriteFile(ctx, o, args[0], force)
		},
	}
	addConfigFlag(cmd, &path)
	cmd.Flags().BoolVar(&force, "force", false, "overwrite FILE if it exists")
	return cmd
}
