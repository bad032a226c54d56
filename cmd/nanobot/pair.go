package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/channels"
	"nanobot/cmd/nanobot/access"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/store"
	"nanobot/internal/role"
)

func newPair(std stdio) *cobra.Command {
	var path, revoke, as string
	var list bool
	person := personExamples()[0]
	cmd := &cobra.Command{
		Use:   "pair [flags] [CODE | CHANNEL:ID]",
		Short: "Let somebody talk to the bot, by pairing code or ID",
		Long: `Pair gives access to somebody who is not in allowFrom: by the code that the bot sent them, or by their ID, even
before they have written. If they wrote within the last 15 minutes, the bot tells them and answers their newest
message. With --revoke their waiting messages are dropped and their running turn is stopped.
With --as they get a role; roles of the config win over it.

Run it while the daemon runs, as the daemon's user, or as root if only root can change the config.`,
		Example: `  nanobot pair K7QX3TBA
  nanobot pair ` + person + `
  nanobot pair --as guest K7QX3TBA
  nanobot pair --list
  nanobot pair --revoke ` + person,
		Args: atMostOneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			if countTrue(len(args) == 1, list, revoke != "") != 1 {
				return exit.Usagef("pair: add a CODE, a CHANNEL:ID, --list or --revoke CHANNEL:ID")
			}
			if as != "" && len(args) == 0 {
				return exit.Usagef("pair: --as needs a CODE or a CHANNEL:ID")
			}
			var who store.Person
			if len(args) == 1 && strings.Contains(args[0], ":") || revoke != "" {
				var err error
				if who, err = parsePerson(cmp.Or(revoke, strings.Join(args, ""))); err != nil {
					return exit.Usagef("pair: %w", err)
				}
			}
			cfg, err := loadForCommand(path)
			if err != nil {
				return err
			}
			ctx, o := cmd.Context(), accessOptions(cfg, std)
			return asStateOwner(cfg, std, func() error {
				switch {
				case list:
					return access.ListPeople(ctx, o, allowedByConfig(cfg))
				case revoke != "":
					return access.Revoke(ctx, o, who, isAllowed(cfg, who))
				case who != (store.Person{}) && cfg.Channels[who.Channel] == nil:
					return exit.Usagef("pair: there is no channel %q; use %s", who.Channel,
						strings.Join(slices.Sorted(maps.Keys(allowedByConfig(cfg))), " or "))
				case who != (store.Person{}):
					return access.Admit(ctx, o, who, as)
				}
				return access.Accept(ctx, o, args[0], as)
			})
		},
	}
	addConfigFlag(cmd, &path)
	cmd.Flags().BoolVar(&list, "list", false, "list the people who have access, and the valid codes")
	addRoleFlag(cmd, &as)
	cmd.Flags().StringVar(&revoke, "revoke", "", "revoke the access of CHANNEL:ID")
	return cmd
}

// addRoleFlag adds --as.
func addRoleFlag(cmd *cobra.Command, as *string) {
	cmd.Flags().Var(checkedFlag{as, access.CheckRole}, "as",
		"role of the person in chats: "+strings.Join(role.Names(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(role.Names(), cobra.ShellCompDirectiveNoFileComp))
}

// parsePerson reads CHANNEL:ID.
func parsePerson(text string) (store.Person, error) {
	channel, id, _ := strings.Cut(strings.TrimSpace(text), ":")
	n, known := findNetwork(channel)
	if !known {
		return store.Person{}, fmt.Errorf("there is no channel %q; write %s", channel, strings.Join(personExamples(), " or "))
	}
	list, ok := n.New().(channels.AccessList)
	if !ok {
		return store.Person{}, fmt.Errorf("people sign in to %s with a link; see nanobot link --help", channel)
	}
	if err := list.CheckUserID(id); err != nil {
		return store.Person{}, fmt.Errorf("%s:ID: %w; /whoami in a chat and nanobot pair --list show IDs", channel, err)
	}
	return store.Person{Channel: channel, User: id}, nil
}

// isAllowed reports whether a person has access by the config.
func isAllowed(cfg *config.Config, p store.Person) bool {
	list := allowFrom(cfg, p.Channel)
	return slices.Contains(list, "*") || slices.Contains(list, p.User)
}

// allowedByConfig returns the user IDs in the config, by enabled channel.
func allowedByConfig(cfg *config.Config) map[string][]string {
	all := map[string][]string{}
	for _, n := range enabledChannels(cfg) {
		if n.HasAccessList() {
			all[n.Name] = allowFrom(cfg, n.Name)
		}
	}
	return all
}

// allowFrom returns the access list of a channel; nil if it has none.
func allowFrom(cfg *config.Config, channel string) []string {
	if list, ok := cfg.Channels[channel].(channels.AccessList); ok {
		return list.Allowed()
	}
	return nil
}

// personExamples returns an example of CHANNEL:ID for each channel that has an access list.
func personExamples() []string {
	var all []string
	for _, n := range networks {
		if list, ok := n.New().(channels.AccessList); ok {
			all = append(all, n.Name+":"+list.UserIDExample())
		}
	}
	return all
}

// accessOptions returns the options of pair and link.
func accessOptions(cfg *config.Config, std stdio) access.Options {
	return access.Options{
		Config: cfg, Out: std.out, Err: std.err,
		OpenStore: func(ctx context.Context) (store.Store, error) { return openStore(ctx, cfg, true) },
		Record:    func(decision string, g store.Pairing) { auditPairing(cfg, decision, g, std) },
	}
}

// asStateOwner calls f as the owner of the state.
func asStateOwner(cfg *config.Config, std stdio, f func() error) error {
	if err := trust.EnterState(cfg, std.err); err != nil {
		return err
	}
	return f()
}

func countTrue(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}
