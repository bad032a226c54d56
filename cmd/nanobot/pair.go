package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/audit"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
)

func newPair(std stdio) *cobra.Command {
	var path, revoke string
	var list bool
	cmd := &cobra.Command{
		Use:   "pair [flags] [CODE | CHANNEL:ID]",
		Short: "Let somebody in by pairing code or by id",
		Long: `Pair lets in somebody who is not in allowFrom: by the code that the bot gave them, or by their numeric id, whether or
not they have written yet. Who has written within the last 15 minutes is told so by the bot, and their newest message is answered.
With --revoke their waiting messages are dropped and their running turn is stopped. All of it works while the daemon runs, which
notices at once, for the user that the daemon runs as, and for root if nobody else can change the config.`,
		Example: `  nanobot pair K7QX3TBA
  nanobot pair telegram:123456789
  nanobot pair --list
  nanobot pair --revoke telegram:123456789`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if chosen := len(args) + btoi(list) + btoi(revoke != ""); chosen != 1 {
				return exit.Usagef("pair: give a CODE, a CHANNEL:ID, --list or --revoke CHANNEL:ID")
			}
			var who store.Person
			if len(args) == 1 && strings.Contains(args[0], ":") || revoke != "" {
				var err error
				if who, err = parsePerson(cmp.Or(revoke, strings.Join(args, ""))); err != nil {
					return exit.Usagef("pair: %w", err)
				}
			}
			return withStore(cmd.Context(), path, std, func(s store.Store, cfg *config.Config) error {
				switch {
				case list:
					return listGuests(cmd.Context(), s, cfg, std)
				case revoke != "":
					return revokeGuest(cmd.Context(), s, cfg, who, std)
				case who != (store.Person{}):
					return admitGuest(cmd.Context(), s, cfg, who, std)
				}
				return acceptGuest(cmd.Context(), s, cfg, args[0], std)
			})
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	cmd.Flags().BoolVar(&list, "list", false, "list who is let in, and which codes are open")
	cmd.Flags().StringVar(&revoke, "revoke", "", "shut somebody out again: CHANNEL:ID")
	_ = cmd.MarkFlagFilename("config", "json")
	return cmd
}

// parsePerson reads CHANNEL:ID.
func parsePerson(text string) (store.Person, error) {
	channel, id, _ := strings.Cut(strings.TrimSpace(text), ":")
	n, known := networks[channel]
	switch {
	case !known:
		return store.Person{}, fmt.Errorf("there is no channel %q; write telegram:ID or discord:ID, with a user's numeric id", channel)
	case n.allowFrom == nil:
		return store.Person{}, fmt.Errorf("people come to %s by a link, see nanobot link --help", channel)
	}
	if err := config.CheckUserID(id); err != nil {
		return store.Person{}, fmt.Errorf("%s:ID: %w; /whoami in a chat and nanobot pair --list show ids", channel, err)
	}
	return store.Person{Channel: channel, User: id}, nil
}

// allowed reports whether the config lets somebody in.
func allowed(cfg *config.Config, p store.Person) bool {
	list := networks[p.Channel].allowFrom(cfg)
	return slices.Contains(list, "*") || slices.Contains(list, p.User)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// withStore opens the state beside a daemon that may be running, as the user that it belongs to.
func withStore(ctx context.Context, path string, std stdio, f func(store.Store, *config.Config) error) error {
	cfg, err := loadBesideDaemon(path)
	if err != nil {
		return err
	}
	if err := trust.EnterState(cfg, std.err); err != nil {
		return err
	}
	s, err := openStore(ctx, cfg, true)
	if err != nil {
		return err
	}
	return errors.Join(f(s, cfg), closeStore(s))
}

func acceptGuest(ctx context.Context, s store.Store, cfg *config.Config, code string, std stdio) error {
	g, ok, err := s.Accept(ctx, strings.ToUpper(strings.TrimSpace(code)), intake.CodeLife)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("code %q is not known or has ended (a code is good for %d minutes, and of too many the oldest ends); "+
			"have them write to the bot again, or let them in by id: nanobot pair CHANNEL:ID", code, int(intake.CodeLife.Minutes()))
	}
	auditGuest(cfg, audit.Paired, g, std)
	_, err = fmt.Fprintf(std.out, "%s may talk to the bot now.\n", guestName(g))
	return err
}

func admitGuest(ctx context.Context, s store.Store, cfg *config.Config, who store.Person, std stdio) error {
	g, ok, err := s.Admit(ctx, who, intake.CodeLife)
	if err != nil {
		return err
	}
	if !ok {
		_, err = fmt.Fprintf(std.out, "%s was let in already.\n", guestName(g))
		return err
	}
	auditGuest(cfg, audit.Paired, g, std)
	_, err = fmt.Fprintf(std.out, "%s may talk to the bot now.\n", guestName(g))
	return err
}

func listGuests(ctx context.Context, s store.Store, cfg *config.Config, std stdio) error {
	guests, err := s.Guests(ctx)
	if err != nil {
		return err
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(networks)) {
		if n := networks[name]; n.allowFrom != nil && n.enabled(cfg) {
			for _, id := range n.allowFrom(cfg) {
				lines = append(lines, fmt.Sprintf("%s:%s\tin allowFrom of the config", name, id))
			}
		}
	}
	for _, g := range guests {
		state := "let in " + g.Since.Local().Format(time.DateTime)
		if g.Code != "" {
			left := intake.CodeLife - time.Since(g.Since)
			if left <= 0 {
				continue
			}
			state = fmt.Sprintf("waits, code %s, good for %s", g.Code, max(left.Round(time.Minute), time.Minute))
		}
		lines = append(lines, guestName(g)+"\t"+state)
	}
	if len(lines) == 0 {
		lines = []string{"Nobody is let in, and nobody waits."}
	}
	_, err = fmt.Fprintln(std.out, strings.Join(lines, "\n"))
	return err
}

func revokeGuest(ctx context.Context, s store.Store, cfg *config.Config, who store.Person, std stdio) error {
	name, listed := who.Channel+":"+who.User, allowed(cfg, who)
	ok, err := s.Revoke(ctx, who, !listed)
	if err != nil {
		return err
	}
	if ok {
		auditGuest(cfg, audit.Revoked, store.Guest{Channel: who.Channel, User: channels.User{ID: who.User}}, std)
	}
	switch {
	case listed:
		return fmt.Errorf("%s is let in by allowFrom in %s, and stays in until it is taken out there and the config is read again (SIGHUP)", name, cfg.File())
	case !ok:
		return fmt.Errorf("%s was not let in by nanobot pair, and is not in allowFrom", name)
	}
	end := "is shut out."
	if !awaitStopped(ctx, s, cfg) {
		end = "is shut out. A running turn has not ended yet; nothing that it says is sent."
	}
	_, err = fmt.Fprintf(std.out, "%s %s\n", name, end)
	return err
}

// longestStop is how long a daemon may take to stop a turn, which is killed after ten seconds.
const longestStop = 20 * time.Second

// awaitStopped waits until the daemon, if one runs, has ended the turns of people who have lost
// access.
func awaitStopped(ctx context.Context, s store.Store, cfg *config.Config) bool {
	for until := time.Now().Add(longestStop); time.Now().Before(until); {
		turns, sends, err := s.Dismissed(ctx)
		if err != nil || len(turns)+len(sends) == 0 || !daemonRuns(cfg.Gateway.StateDir) {
			return err == nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// daemonRuns reports whether the process that used a state last is alive.
func daemonRuns(state string) bool {
	text, err := os.ReadFile(filepath.Join(state, "daemon.lock"))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func guestName(g store.Guest) string {
	name := g.Channel + ":" + g.User.ID
	if g.User.Name != "" {
		name += fmt.Sprintf(" (%q)", g.User.Name) // quoted: it is what a stranger typed
	}
	return name
}
