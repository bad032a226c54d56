package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/channels"
	"nanobot/cmd/nanobot/bots"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/starter"
)

func newBots(std stdio) *cobra.Command {
	s := &bots.Server{In: std.in, Out: std.out, Err: std.err, Networks: networks, Parts: parts()}
	cmd := &cobra.Command{
		Use:   "bots",
		Short: "Run many bots on one server",
		Long: `Bots makes, starts, stops and removes named bots on a server with systemd. A bot has its config and its tokens in /etc/nanobot/NAME, its state
in /var/lib/nanobot/NAME, a user of its own, and runs as nanobot@NAME.service. All but status and list need root.`,
		Example: `  nanobot bots create faq --command 'grep -i -e {message} /srv/faq.txt' --` + tokenFlagExample() + ` token.txt
  nanobot bots start faq
  nanobot bots list`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&s.Root, "root", "/", "the root of the server's files, for preparing another machine's")
	cmd.PersistentFlags().BoolVar(&s.JSON, "json", false, "print JSON")
	_ = cmd.MarkPersistentFlagDirname("root")
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error { return s.ResolveRoot() }
	cmd.AddCommand(newBotsCreate(s), newBotsList(s), newBotsStatus(s), newBotsStart(s), newBotsStop(s), newBotsRemove(s))
	return cmd
}

func newBotsCreate(s *bots.Server) *cobra.Command {
	d := bots.Draft{TokenFiles: map[string]*string{}}
	known := protocolNames()
	cmd := &cobra.Command{
		Use:   "create [flags] NAME",
		Short: "Make a bot",
		Long: `Create writes the config of a new bot to /etc/nanobot/NAME/config.json, its tokens to /etc/nanobot/NAME/credentials, which only root can read and
systemd hands to the bot, and with --template a first agent beside it. It never changes a bot that is there.`,
		Example: `  nanobot bots create faq --command 'grep -i -e {message} /srv/faq.txt' --` + tokenFlagExample() + ` token.txt
  pass show bots/helper | nanobot bots create helper --template python --` + tokenFlagExample() + ` -`,
		Args: oneBot,
		RunE: func(_ *cobra.Command, args []string) error { return s.Create(args[0], d) },
	}
	flags := cmd.Flags()
	flags.StringVar(&d.Command, "command", "", "the agent's shell command; {message} is the user's text, best after --, grep's -e or as --name={message}")
	flags.StringVar(&d.Protocol, "protocol", "", "how its output is read: "+strings.Join(known, ", ")+" (default: "+parts().Default().Terminal.Protocol+"; "+starter.Protocol+" with --template)")
	flags.StringVar(&d.Template, "template", "", "write a first agent: "+strings.Join(starter.Names(), ", "))
	for _, n := range networks {
		if n.Token != "" {
			d.TokenFiles[n.Name] = flags.String(bots.TokenFlag(n.Name), "", "file with the token of "+n.Token+"; -: stdin")
		}
	}
	flags.StringArrayVar(&d.Allow, "allow", nil, "id of a user who may talk to the bot, or *; may be repeated (default: whoever is paired)")
	flags.BoolVar(&d.KeepState, "keep-state", false, "take over the people and messages of a bot that had this name before")
	_ = cmd.RegisterFlagCompletionFunc("template", cobra.FixedCompletions(starter.Names(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("protocol", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// tokenFlagExample is the flag of the first channel that has a token.
func tokenFlagExample() string {
	first := slices.IndexFunc(networks, func(n channels.Description) bool { return n.Token != "" })
	return bots.TokenFlag(networks[first].Name)
}

func oneBot(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Usagef("name one bot (got %d)", len(args))
	}
	return nil
}

func newBotsList(s *bots.Server) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the bots of this server",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return s.List() },
	}
}

func newBotsStatus(s *bots.Server) *cobra.Command {
	return &cobra.Command{
		Use:   "status [flags] [NAME]…",
		Short: "Say how bots are",
		Long:  `Status shows the bots that are named, or all. Exit status: 0 all of them are active, 1 one is not.`,
		RunE:  func(cmd *cobra.Command, args []string) error { return s.Status(cmd.Context(), args) },
	}
}

func newBotsStart(s *bots.Server) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "start [flags] NAME…",
		Short: "Start bots, now and after each reboot",
		Long: `Start has systemd start the bots now and whenever the server starts, but for those whose config has a mistake. Exit status: 0 all run, 1 one
does not, 78 all run but those with a bad config.`,
		RunE: func(cmd *cobra.Command, args []string) error { return s.Start(cmd.Context(), args, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "every bot of this server")
	return cmd
}

func newBotsStop(s *bots.Server) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "stop [flags] NAME…",
		Short: "Stop bots until they are started again",
		Long:  `Stop has systemd end the bots and not start them after a reboot. Messages that come meanwhile are answered when they are started again.`,
		RunE:  func(cmd *cobra.Command, args []string) error { return s.Stop(cmd.Context(), args, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "every bot of this server")
	return cmd
}

func newBotsRemove(s *bots.Server) *cobra.Command {
	var o bots.RemoveOptions
	cmd := &cobra.Command{
		Use:   "remove [flags] NAME",
		Short: "Stop a bot and remove it",
		Long: `Remove stops a bot and removes its config, its tokens, and what systemctl edit has changed for it alone. What it has received and kept stays unless
--purge is said, now or later.`,
		Args: oneBot,
		RunE: func(cmd *cobra.Command, args []string) error { return s.Remove(cmd.Context(), args[0], o) },
	}
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.Purge, "purge", false, "remove its state, too: messages, files of its users, everything")
	return cmd
}
