package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nanobot/channels/cli"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/runbooks"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/gateway/runbook"
	"nanobot/gateway/runbook/shellstep"
	"nanobot/gateway/store/sqlite"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

func newRunbook(std stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runbook",
		Short: "Run procedures step by step, with a proof of each step",
		Long: `A runbook is a Markdown document whose steps need a proof, in order: a command that succeeds, the approval of a
person, or a comment. A run records each proof in a hash chain, which reveals a record that is changed, removed
or moved. Runbooks are the files *.md in the folder runbooks of the workspace.`,
		Args: requireSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRunbookList(std), newRunbookCheck(std), newRunbookRun(std), newRunbookVerify(std), newRunbookExport(std))
	return cmd
}

// runbookFlags are what all of the commands have.
type runbookFlags struct {
	config string
	asJSON bool
}

func (f *runbookFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else ./config.json)")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	_ = cmd.MarkFlagFilename("config", "json")
}

func newRunbookList(std stdio) *cobra.Command {
	var flags runbookFlags
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the runbooks of the workspace",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := loadForCommand(flags.config)
			if err != nil {
				return err
			}
			return runbooks.List(cfg.Runbooks.Folder, std.out, flags.asJSON)
		},
	}
	flags.add(cmd)
	return cmd
}

func newRunbookCheck(std stdio) *cobra.Command {
	var flags runbookFlags
	cmd := &cobra.Command{
		Use:   "check [flags] FILE",
		Short: "Show the steps of a runbook and the mistakes in it",
		Long: `Check reads a runbook and prints its steps with their challenges, its errors and its warnings. FILE is a path or
the name of a runbook in the workspace. Exit status: 0 no errors, 1 errors.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := runbook.ReadFile(args[0], runbook.MaxText+1) // one more, so that it is refused
			if errors.Is(err, fs.ErrNotExist) && !strings.Contains(args[0], "/") && configPath(flags.config) != "" {
				cfg, err := loadForCommand(flags.config)
				if err != nil {
					return err
				}
				if text, _, err = runbook.Folder(cfg.Runbooks.Folder).Read(args[0]); err != nil {
					return noRunbook(cfg, args[0], err)
				}
			} else if err != nil {
				return err
			}
			return runbooks.Check(args[0], text, std.out, flags.asJSON)
		},
	}
	flags.add(cmd)
	return cmd
}

func newRunbookVerify(std stdio) *cobra.Command {
	var flags runbookFlags
	cmd := &cobra.Command{
		Use:   "verify [flags] RUN|FILE",
		Short: "Verify the records of a run or of an exported file",
		Long: `Verify recomputes the hash chain of the records and compares the records with the text of the runbook at the
start of the run. It prints the last hash. Compare it with the hash printed at the end of the run, which reveals
a chain that was rewritten as a whole. A file of "nanobot runbook export" needs neither config nor state.
Exit status: 0 all records are right, 1 a record is wrong or missing; its step is named.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(args[0]); err == nil || strings.ContainsAny(args[0], "./") {
				return runbooks.VerifyFile(args[0], runbooks.Printing{Out: std.out, JSON: flags.asJSON})
			}
			return withRuns(cmd.Context(), flags.config, std, func(runs runbook.Runs) error {
				return runbooks.VerifyRun(cmd.Context(), runs, args[0], runbooks.Printing{Out: std.out, JSON: flags.asJSON})
			})
		},
	}
	flags.add(cmd)
	return cmd
}

func newRunbookExport(std stdio) *cobra.Command {
	var flags runbookFlags
	cmd := &cobra.Command{
		Use:   "export [flags] RUN",
		Short: "Print a run and its records as JSON, for verify",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRuns(cmd.Context(), flags.config, std, func(runs runbook.Runs) error {
				return runbooks.Export(cmd.Context(), runs, args[0], std.out)
			})
		},
	}
	flags.add(cmd)
	return cmd
}

// withRuns calls f with the runs of the state, as the user that the state belongs to.
func withRuns(ctx context.Context, path string, std stdio, f func(runbook.Runs) error) error {
	cfg, err := loadForCommand(path)
	if err != nil {
		return err
	}
	return enteringState(cfg, std, func() error {
		db, err := openStore(ctx, cfg, true)
		if err != nil {
			return err
		}
		return errors.Join(f(runbook.Runs{Records: db}), db.Close())
	})
}

func newRunbookRun(std stdio) *cobra.Command {
	var flags runbookFlags
	var resume string
	cmd := &cobra.Command{
		Use:   "run [flags] NAME | run [flags] --resume RUN",
		Short: "Execute a runbook step by step",
		Long: `Run executes a runbook of the workspace. It runs the commands of shell steps in the workspace, with the limits
and the sandbox of the agent, and asks questions in this terminal. Answer with a line: approve or reject, or the
text of a comment; after a failure retry or abort, and after the third failure also skip REASON.

At the end of input the run waits. Continue it with --resume, also after an interrupt or a crash; a command that
was running is then run again.

With --json it prints one object per line, the last is {"kind":"run","run":…,"status":"complete|failed|declined|waiting"}.
Exit status: 0 the run is complete, 1 it is not, 130 interrupted.`,
		Example: `  nanobot runbook run deploy
  printf 'approve\nlooks good to me\n' | nanobot runbook run --json deploy
  nanobot runbook run --resume 3f9c0a71de52`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args)+btoi(resume != "") != 1 {
				return exit.Usagef("runbook run: give the NAME of a runbook, or --resume RUN")
			}
			cfg, err := loadForCommand(flags.config)
			if err != nil {
				return err
			}
			if err := trust.CheckAgent(cfg); err != nil {
				return err
			}
			var printer runbooks.Printer = runbooks.Text{Out: std.out}
			if flags.asJSON {
				printer = runbooks.JSON{Out: std.out}
			}
			d := runbookDrive{cfg: cfg, std: std, printer: printer, resume: resume, name: strings.Join(args, "")}
			return d.run(cmd.Context())
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&resume, "resume", "", "continue this run")
	return cmd
}

// runbookDrive is one call of `nanobot runbook run`.
type runbookDrive struct {
	cfg          *config.Config
	std          stdio
	printer      runbooks.Printer
	name, resume string
}

func (d runbookDrive) run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second one ends us at once, whatever we wait for
	defer writeErrors()()
	book, source, err := d.load()
	if err != nil {
		return err
	}
	db, err := openOrMakeStore(ctx, d.cfg)
	if err != nil {
		return err
	}
	return errors.Join(d.drive(ctx, runbook.Runs{Records: db}, book, source), db.Close())
}

// drive executes a new run of a runbook, or the one that is to be resumed.
func (d runbookDrive) drive(ctx context.Context, runs runbook.Runs, book runbook.Runbook, source runbook.Source) error {
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	runner, err := newRunner(d.cfg, host{supervisor: supervisor}, newLog(d.std.err, false))
	if err != nil {
		return err
	}
	defer runner.Close()
	by := fmt.Sprintf("%s:%d", cli.Name, startedBy)
	var r runbook.Run
	if d.resume != "" {
		r, err = d.find(ctx, runs)
	} else {
		r, _, err = runs.Begin(ctx, runbook.Start{Runbook: book, Source: source, By: by})
	}
	if err != nil {
		return err
	}
	shell, err := shellSteps(runner, d.cfg.Workspace, r.ID)
	if err != nil {
		return err
	}
	driver := runbooks.Driver{Runs: runs, Shell: shell, Answers: runbooks.NewAnswers(d.std.in), Printer: d.printer, By: by}
	r, err = driver.Drive(ctx, r)
	switch {
	case err != nil:
		return err
	case r.Status == runbook.Complete:
		return nil
	case ctx.Err() != nil:
		return exit.Error{Status: exit.Interrupted}
	}
	return exit.Error{Status: exit.Failed}
}

// load reads the runbook of a new run.
func (d runbookDrive) load() (book runbook.Runbook, source runbook.Source, err error) {
	if d.resume != "" {
		return book, "", nil
	}
	book, source, err = runbook.Folder(d.cfg.Runbooks.Folder).Load(d.name)
	return book, source, noRunbook(d.cfg, d.name, err)
}

// noRunbook explains an error of reading a runbook of the workspace.
func noRunbook(cfg *config.Config, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no runbook %s in %s; nanobot runbook list shows them", name, cfg.Runbooks.Folder)
	}
	return err
}

// find returns the run that is to be resumed.
func (d runbookDrive) find(ctx context.Context, runs runbook.Runs) (runbook.Run, error) {
	r, err := runs.Load(ctx, d.resume)
	switch {
	case errors.Is(err, runbook.ErrNoRun):
		return r, fmt.Errorf("there is no run %s", d.resume)
	case err == nil && r.Chat != "":
		return r, fmt.Errorf("run %s belongs to the chat %s, whose people go on with it", r.ID, r.Chat)
	}
	return r, err
}

// openOrMakeStore opens the state beside a daemon, and makes it first where no daemon has run yet.
func openOrMakeStore(ctx context.Context, cfg *config.Config) (*sqlite.Store, error) {
	db, err := openStore(ctx, cfg, true)
	if !errors.Is(err, fs.ErrNotExist) {
		return db, err
	}
	if made, err := openStore(ctx, cfg, false); err == nil { // else another process is making it
		if err := made.Close(); err != nil {
			return nil, err
		}
	}
	return openStore(ctx, cfg, true)
}

// shellSteps returns how the commands of a run's steps are executed: in the workspace, where the
// local chat's agent works. What a crash has left of a command of this run is killed.
func shellSteps(runner *terminal.Runner, workspace, run string) (runbooks.Shell, error) {
	place, err := runner.ExecEnv(cli.Name, "local")
	if err != nil {
		return nil, err
	}
	place = shellstep.ExecEnv(place, run)
	place.Dir = workspace
	return func(ctx context.Context, command string, timeout time.Duration) (runbook.ShellProof, error) {
		return shellstep.Run(ctx, place, command, timeout)
	}, nil
}
