package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
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
	cmd.AddCommand(newRunbookList(std), newRunbookCheck(std), newRunbookRun(std), newRunbookVerify(std),
		newRunbookExport(std), newRunbookKey(std), newRunbookShare(std), newRunbookUnshare(std))
	return cmd
}

// runbookFlags are the flags that all runbook commands have.
type runbookFlags struct {
	config string
	asJSON bool
}

func (f *runbookFlags) add(cmd *cobra.Command) {
	addConfigFlag(cmd, &f.config)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
}

// runbookNames returns the names of the runbooks of the workspace, for completion.
func (f *runbookFlags) runbookNames() []string {
	cfg, err := loadConfig(configPath(f.config))
	if err != nil {
		return nil
	}
	names, _ := runbook.Folder(cfg.Runbooks.Folder).Names() // without them nothing is completed
	return names
}

func newRunbookList(std stdio) *cobra.Command {
	var flags runbookFlags
	var stored bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the runbooks of the workspace",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if stored {
				return withRuns(cmd.Context(), flags.config, std, func(runs runbook.Runs) error {
					return runbooks.ListStored(cmd.Context(), runs, std.out, flags.asJSON)
				})
			}
			cfg, err := loadForCommand(flags.config)
			if err != nil {
				return err
			}
			return runbooks.List(cfg.Runbooks.Folder, std.out, flags.asJSON)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&stored, "stored", false, "list those that agents have stored instead")
	return cmd
}

func newRunbookCheck(std stdio) *cobra.Command {
	var flags runbookFlags
	cmd := &cobra.Command{
		Use:   "check [flags] FILE",
		Short: "Show the steps of a runbook and the mistakes in it",
		Long: `Check reads a runbook and prints its steps with their challenges, its errors and its warnings. FILE is a path or
the name of a runbook in the workspace. Exit status: 0 no errors, 1 errors.`,
		Args: oneArgument("the FILE or the name of a runbook"),
		RunE: func(_ *cobra.Command, args []string) error {
			// one byte more, so that Check reports a text that is too long
			text, err := runbook.ReadFile(args[0], runbook.MaxText+1)
			if errors.Is(err, fs.ErrNotExist) && !strings.Contains(args[0], "/") && configPath(flags.config) != "" {
				cfg, err := loadForCommand(flags.config)
				if err != nil {
					return err
				}
				if text, _, err = runbook.Folder(cfg.Runbooks.Folder).Read(args[0]); err != nil {
					return explainNoRunbook(cfg, args[0], err)
				}
			} else if err != nil {
				return err
			}
			return runbooks.Check(args[0], text, std.out, flags.asJSON)
		},
	}
	flags.add(cmd)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return flags.runbookNames(), cobra.ShellCompDirectiveDefault // files, too
	}
	return cmd
}

func newRunbookVerify(std stdio) *cobra.Command {
	var flags runbookFlags
	v := runbooks.Verification{Out: std.out}
	var key, require string
	cmd := &cobra.Command{
		Use:   "verify [flags] RUN|FILE",
		Short: "Verify the records of a run or of an exported file",
		Long: `Verify recomputes the hash chain of the records and compares the records with the text of the runbook at the
start of the run. It prints the last hash and whose word each proof is: the agent's, that of the gateway, which
has run the command itself, or that of a person. Compare the hash with the one printed at the end of the run.

A file of "nanobot runbook export" must be signed with the key of this bot, which is in its state, or with --key.
With --key it needs neither config nor state. A file without a signature is not accepted.
Exit status: 0 everything is valid and as demanded, 1 it is not; the output says what is wrong, and names the step.`,
		Example: `  nanobot runbook verify --complete --require gateway run.json`,
		Args:    oneArgument("the ID of a run or an exported FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v.JSON, v.Require = flags.asJSON, runbook.Word(require)
			if !slices.Contains([]runbook.Word{"", runbook.WordOfGateway, runbook.WordOfPerson}, v.Require) {
				return exit.Usagef("runbook verify: --require is gateway or person (got %q)", require)
			}
			if _, err := runbook.ParseKey(key); key != "" && err != nil {
				return exit.Usagef("runbook verify: --key: %v", err)
			}
			if _, err := os.Stat(args[0]); err == nil || strings.ContainsAny(args[0], "./") {
				v.Key = func() (ed25519.PublicKey, error) { return exportKey(cmd.Context(), key, flags.config, std) }
				return v.VerifyFile(args[0])
			}
			if key != "" {
				return exit.Usagef("runbook verify: --key is for files, and %q is a run of the state", args[0])
			}
			return withRuns(cmd.Context(), flags.config, std, func(runs runbook.Runs) error {
				return v.VerifyRun(cmd.Context(), runs, args[0])
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&key, "key", "", "the public key that must have signed the file (default: that of the state)")
	cmd.Flags().BoolVar(&v.Complete, "complete", false, "the run must have ended as complete")
	cmd.Flags().StringVar(&require, "require", "", "gateway or person: no proof may be weaker")
	cmd.Flags().StringVar(&v.Hash, "hash", "", "the hash that the last record or the text of the runbook must have")
	return cmd
}

// exportKey returns the key that must have signed an export: the given one, or that of the state.
func exportKey(ctx context.Context, given, path string, std stdio) (key ed25519.PublicKey, err error) {
	if given != "" {
		return runbook.ParseKey(given)
	}
	err = withRuns(ctx, path, std, func(runs runbook.Runs) (err error) {
		key, err = runs.VerificationKey(ctx)
		return err
	})
	return key, err
}

func newRunbookExport(std stdio) *cobra.Command {
	return newRunsCommand(std, &cobra.Command{
		Use:   "export [flags] RUN",
		Short: "Print a run and its records as signed JSON, for runbook verify",
		Args:  oneArgument("the ID of a run"),
	}, func(ctx context.Context, runs runbook.Runs, args []string, _ bool) error {
		return runbooks.Export(ctx, runs, args[0], std.out)
	})
}

// newRunsCommand completes a command that uses the runs of the state, as the owner of the state.
func newRunsCommand(std stdio, cmd *cobra.Command,
	do func(ctx context.Context, runs runbook.Runs, args []string, asJSON bool) error,
) *cobra.Command {
	var flags runbookFlags
	flags.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withRuns(cmd.Context(), flags.config, std,
			func(runs runbook.Runs) error { return do(cmd.Context(), runs, args, flags.asJSON) })
	}
	return cmd
}

// withRuns calls f with the runs of the state, as the owner of the state.
func withRuns(ctx context.Context, path string, std stdio, f func(runbook.Runs) error) error {
	cfg, err := loadForCommand(path)
	if err != nil {
		return err
	}
	return asStateOwner(cfg, std, func() error {
		db, err := openStore(ctx, cfg, true)
		if err != nil {
			return err
		}
		return errors.Join(f(runbook.Runs{Records: db}), db.Close())
	})
}

//nolint:lll // the text has lines of its own
func newRunbookRun(std stdio) *cobra.Command {
	var flags runbookFlags
	var resume string
	cmd := &cobra.Command{
		Use:   "run [flags] NAME | --resume RUN",
		Short: "Execute a runbook step by step",
		Long: `Run executes a runbook of the workspace. It runs the commands of shell steps in the workspace, with the limits
and the sandbox of the agent, and asks questions in this terminal. Answer each with one line: approve or
reject, or the text of a comment; after a failure retry or abort, and after the third failure also skip REASON.

At the end of input the run waits. Continue it with --resume, also after an interrupt or a crash. If the run waits
at a command, which may have been interrupted, the first question is whether to run it again: retry or abort.

With --json it prints one object per line. The last is {"kind":"run","run":…,"status":"complete|failed|declined|waiting"}.
Exit status: 0 the run is complete, 1 it is not, 130 interrupted.`,
		Example: `  nanobot runbook run deploy
  printf 'approve\nlooks good to me\n' | nanobot runbook run --json deploy
  nanobot runbook run --resume 3f9c0a71de52`,
		Args: atMostOneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			if countTrue(len(args) == 1, resume != "") != 1 {
				return exit.Usagef("runbook run: add the NAME of a runbook, or --resume RUN")
			}
			cfg, err := loadForCommand(flags.config)
			if err != nil {
				return err
			}
			if err := trust.CheckAgent(cfg); err != nil {
				return err
			}
			d := runbookCommand{cfg: cfg, std: std, asJSON: flags.asJSON, resume: resume, name: strings.Join(args, "")}
			return d.run(cmd.Context())
		},
	}
	flags.add(cmd)
	cmd.ValidArgsFunction = completeNames(flags.runbookNames)
	cmd.Flags().StringVar(&resume, "resume", "", "continue this run")
	return cmd
}

// runbookCommand is one execution of `nanobot runbook run`.
type runbookCommand struct {
	cfg          *config.Config
	std          stdio
	asJSON       bool
	name, resume string
}

func (d runbookCommand) run(ctx context.Context) error {
	ctx, stop := untilSignal(ctx, syscall.SIGHUP)
	defer stop()
	defer disableSIGPIPE()()
	book, source, err := d.loadRunbook()
	if err != nil {
		return err
	}
	db, err := openOrCreateStore(ctx, d.cfg)
	if err != nil {
		return err
	}
	return errors.Join(d.executeRun(ctx, runbook.Runs{Records: db}, book, source), db.Close())
}

// executeRun starts a run of a runbook, or resumes one, and executes its steps.
func (d runbookCommand) executeRun(ctx context.Context, runs runbook.Runs, book runbook.Runbook,
	source runbook.Source,
) error {
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	runner, err := newRunner(d.cfg, agentHost{supervisor: supervisor}, newLog(d.std.err, false))
	if err != nil {
		return err
	}
	defer runner.Close()
	by := fmt.Sprintf("%s:%d", cli.Name, callerUID)
	var r runbook.Run
	if d.resume != "" {
		r, err = d.loadRun(ctx, runs)
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
	driver := runbooks.Driver{
		Runs: runs, Shell: shell, Answers: runbooks.NewAnswers(d.std.in), Out: d.std.out,
		JSON: d.asJSON, By: by, Resumed: d.resume != "",
	}
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

// loadRunbook reads the runbook of a new run. A resumed run has its own copy.
func (d runbookCommand) loadRunbook() (book runbook.Runbook, source runbook.Source, err error) {
	if d.resume != "" {
		return book, "", nil
	}
	book, source, err = runbook.Folder(d.cfg.Runbooks.Folder).Load(d.name)
	return book, source, explainNoRunbook(d.cfg, d.name, err)
}

// explainNoRunbook adds the next step to the error of a runbook that does not exist.
func explainNoRunbook(cfg *config.Config, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no runbook %s in %s; nanobot runbook list shows them", name, cfg.Runbooks.Folder)
	}
	return err
}

// loadRun returns the run to resume.
func (d runbookCommand) loadRun(ctx context.Context, runs runbook.Runs) (runbook.Run, error) {
	r, err := runs.Load(ctx, d.resume)
	switch {
	case errors.Is(err, runbook.ErrNoRun):
		return r, fmt.Errorf("there is no run %s", d.resume)
	case err == nil && r.Chat != "":
		return r, fmt.Errorf("run %s belongs to the chat %s; continue it there", r.ID, r.Chat)
	}
	return r, err
}

// openOrCreateStore opens the state while a daemon may be running. If no daemon has ever run, it
// creates the state first.
func openOrCreateStore(ctx context.Context, cfg *config.Config) (stateStore, error) {
	db, err := openStore(ctx, cfg, true)
	if !errors.Is(err, fs.ErrNotExist) {
		return db, err
	}
	if created, err := openStore(ctx, cfg, false); err == nil { // otherwise another process is creating it
		if err := created.Close(); err != nil {
			return nil, err
		}
	}
	return openStore(ctx, cfg, true)
}

// shellSteps returns a function that executes the commands of a run's steps in the workspace, with
// the settings of the local chat's agent. It kills processes that a crash of this run has left.
func shellSteps(runner *terminal.Runner, workspace, run string) (runbooks.Shell, error) {
	env, err := runner.ExecEnv(cli.Name, "local")
	if err != nil {
		return nil, err
	}
	env = shellstep.ExecEnv(env, run)
	env.Dir = workspace
	return func(ctx context.Context, command string, timeout time.Duration) (runbook.ShellProof, error) {
		return shellstep.Run(ctx, env, command, timeout)
	}, nil
}
