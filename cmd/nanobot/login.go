package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

func newLogin(std stdio) *cobra.Command {
	var flags agentFlags
	var out bool
	cmd := &cobra.Command{
		Use:   "login [flags] [METHOD]",
		Short: "Sign in to the service of an agent, or out of it",
		Long: `Login asks the agent how people sign in to its service, and runs the command that the agent names in this
terminal: as the user, with the environment and in the folder of the agent. METHOD is needed if there are several.
With --sign-out the agent signs out, if it can. Agents that are running may notice it only after a restart.

Exit status: 0 signed in or out, 1 not, 2 wrong usage, 78 bad config.`,
		Example: `  nanobot login
  nanobot login --agent codex chatgpt
  nanobot login --sign-out`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("login needs one METHOD (got %d)", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := flags.load(cmd)
			if err != nil {
				return err
			}
			if out && len(args) > 0 {
				return exit.Usagef("login --sign-out takes no METHOD")
			}
			return signIn(cmd.Context(), cfg, loginOptions{std, strings.Join(args, ""), out, flags.verbose})
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&out, "sign-out", false, "sign out of the agent's service")
	return cmd
}

// loginOptions are the terminal of login, the method, "" for the only one, whether to sign out, and
// whether the log is shown.
type loginOptions struct {
	stdio
	method       string
	out, verbose bool
}

// signIn lets the person sign in by a method, or signs out.
func signIn(ctx context.Context, cfg *config.Config, std loginOptions) error {
	p, ok := findProtocol(cfg.Terminal.Protocol)
	if !ok || p.SignIn == nil {
		return exit.Usagef("login: agents of the protocol %s have no sign-in that nanobot knows; sign in as the agent's "+
			"manual says", cfg.Terminal.Protocol)
	}
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	ask := p.SignIn(cfg.Terminal)
	if std.out {
		ask.SignOut()
	}
	runner, err := newRunnerWith(cfg, ask, agentHost{supervisor: supervisor}, newLog(std.err, std.verbose))
	if err != nil {
		return err
	}
	defer runner.Close()
	asking, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	_, err = runner.Turn(asking, terminal.Request{Envelope: terminal.Envelope{
		Channel: "cli", ChatID: "local",
		RunID: "login", Attempt: 1,
	}}, terminal.NoChat{})
	stop()
	switch {
	case err != nil && std.out:
		return fmt.Errorf("not signed out: %w", err)
	case err != nil:
		return fmt.Errorf("ask the agent how to sign in: %w", err)
	case std.out:
		fmt.Fprintln(std.err, "nanobot: signed out")
		return nil
	}
	m, err := chooseSignIn(ask.Methods(), std.method)
	if err != nil {
		return err
	}
	env, err := runner.ExecEnv("cli", "local")
	if err != nil {
		return err
	}
	return runSignIn(m, env, std.stdio)
}

// chooseSignIn returns the method that a person names, or the only one.
func chooseSignIn(all []terminal.SignInMethod, wanted string) (terminal.SignInMethod, error) {
	var none terminal.SignInMethod
	if len(all) == 0 {
		return none, errors.New("the agent names no command to sign in; sign in as its manual says")
	}
	if wanted != "" {
		i := slices.IndexFunc(all, func(m terminal.SignInMethod) bool {
			return m.ID == wanted ||
				strings.EqualFold(m.Name, wanted)
		})
		if i < 0 {
			return none, exit.Usagef("login: there is no method %q:\n%s", wanted, signInList(all))
		}
		return all[i], nil
	}
	commands := slices.DeleteFunc(slices.Clone(all), func(m terminal.SignInMethod) bool { return m.Command == "" })
	switch {
	case len(commands) == 1:
		return commands[0], nil
	case len(all) == 1:
		return all[0], nil
	}
	return none, exit.Usagef("login: choose a METHOD:\n%s", signInList(all))
}

// signInList lists methods, one per line.
func signInList(all []terminal.SignInMethod) string {
	var s strings.Builder
	for _, m := range all {
		fmt.Fprintf(&s, "  %-20s %s\n", m.ID, strings.Trim(terminal.OneLine(m.Name+": "+m.Description, 150), ": "))
	}
	return strings.TrimRight(s.String(), "\n")
}

// runSignIn runs the command of a method on this terminal, as the agent's user. The command has no
// sandbox, since it stores the person's account where the agent reads it.
func runSignIn(m terminal.SignInMethod, env terminal.ExecEnv, std stdio) error {
	if m.Command == "" {
		return fmt.Errorf("%s needs no command: set %s in terminal.env", m.Name, strings.Join(m.Variables, ", "))
	}
	fmt.Fprintln(std.err, "nanobot: running", terminal.Clean(m.Command))
	cmd := exec.Command(env.Shell, "-c", m.Command) //nolint:noctx // the person ends it
	cmd.Dir, cmd.Env = env.Dir, slices.Concat(env.Env, m.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.in, std.out, std.err
	if env.User != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: env.User}
	}
	// Ctrl-C reaches the command by the terminal, and must not end this process first.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGQUIT)
	defer signal.Stop(interrupts)
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		return fmt.Errorf("not signed in: the command ended with %s", ended.ProcessState)
	case err != nil:
		return fmt.Errorf("run the sign-in command: %w", err)
	}
	fmt.Fprintln(std.err, "nanobot: signed in")
	return nil
}
