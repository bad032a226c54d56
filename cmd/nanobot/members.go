package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/config"
	"nanobot/gateway/store"
)

func newMembers(std stdio) *cobra.Command {
	var asJSON bool
	cmd := withConfig(&cobra.Command{
		Use:   "members [flags]",
		Short: "List the daemons that share gateway.store",
		Long: `Members lists the daemons that share gateway.store: whether they are up, on which channels they receive (only
the leader does), how many turns they run, their labels and their version.

Exit status: 0 listed, 1 the database does not answer, 2 wrong use, 78 bad config.`,
		Example: "  nanobot members --config /etc/nanobot/mybot/config.json",
		Args:    noArguments,
	}, func(cmd *cobra.Command, cfg *config.Config, _ []string) error {
		return withMembers(cmd.Context(), cfg, std, func(s stateStore) error {
			all, err := s.ListMembers(cmd.Context())
			if err == nil && asJSON {
				err = format.WriteJSON(std.out, listMembers(cfg, all))
			} else if err == nil {
				err = writeMembers(std.out, listMembers(cfg, all))
			}
			return err
		})
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newDrain(std stdio) *cobra.Command {
	return withConfig(&cobra.Command{
		Use:   "drain [flags] NAME",
		Short: "Have a member of gateway.store start no more turns",
		Long: `Drain has a member start no more turns and give up the leadership, until it restarts. Its running turns may
finish; "nanobot members" shows how many are left.

Exit status: 0 draining, 1 there is no such member or the database does not answer, 2 wrong use, 78 bad config.`,
		Example: "  nanobot drain host-a --config /etc/nanobot/mybot/config.json",
		Args:    oneArgument("the NAME of a member"),
	}, func(cmd *cobra.Command, cfg *config.Config, args []string) error {
		return withMembers(cmd.Context(), cfg, std, func(s stateStore) error {
			return drainMember(cmd.Context(), s, args[0], std.out)
		})
	})
}

func drainMember(ctx context.Context, s stateStore, name string, out io.Writer) error {
	found, err := s.Drain(ctx, name)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf(`there is no live member %q; "nanobot members" lists them`, name)
	}
	fmt.Fprintf(out, "%s starts no more turns\n", name)
	all, err := s.ListMembers(ctx)
	if err == nil && !slices.ContainsFunc(all, func(m store.MemberStatus) bool { return m.State == store.Up }) {
		fmt.Fprintf(out, "No other member is up: nothing is received until %s restarts or another one starts.\n", name)
	}
	return err
}

// withMembers calls f with the shared state of a config.
func withMembers(ctx context.Context, cfg *config.Config, std stdio, f func(stateStore) error) error {
	if cfg.Gateway.Store == "" {
		return exit.Error{Status: exit.Usage, Err: errors.New("gateway.store is not set, so this bot has one daemon; " +
			"docs/scale.md says how to have several")}
	}
	return asStateOwner(cfg, std, func() error {
		s, err := openStore(ctx, cfg, true)
		if err != nil {
			return err
		}
		return errors.Join(f(s), closeStore(s))
	})
}

// listedMember is a member for people and scripts.
type listedMember struct {
	Name     string            `json:"name"`
	State    store.MemberState `json:"state"`
	Receives []string          `json:"receives"`
	Running  int               `json:"running"`
	Labels   []string          `json:"labels"`
	Version  string            `json:"version"`
}

func listMembers(cfg *config.Config, all []store.MemberStatus) []listedMember {
	listed := make([]listedMember, len(all))
	for i, m := range all {
		listed[i] = listedMember{m.Name, m.State, []string{}, m.Running, append([]string{}, m.Labels...), m.Version}
		if m.Leader {
			for _, n := range enabledChannels(cfg) {
				listed[i].Receives = append(listed[i].Receives, n.Name)
			}
		}
	}
	return listed
}

func writeMembers(out io.Writer, all []listedMember) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tRECEIVES\tRUNNING\tLABELS\tVERSION")
	for _, m := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", m.Name, m.State, strings.Join(m.Receives, " "), m.Running,
			strings.Join(m.Labels, " "), m.Version)
	}
	return w.Flush()
}
