package blocks_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/blocks"
	"nanobot/terminal/process"
	"nanobot/terminal/protocoltest"
)

// batches is the number of responses that carefulModel needs. batch is the number of commands in
// each, including the two that record the progress for the model.
const batches, batch = 3, 10

// carefulModel executes its steps in batches and repairs a batch that was interrupted. Its only
// input is the outbox.
func carefulModel() int {
	raw, _ := io.ReadAll(os.Stdin)
	fmt.Print(carefulResponse(string(raw)))
	return 0
}

// carefulResponse returns the response of carefulModel to an outbox.
func carefulResponse(outbox string) string {
	var b strings.Builder
	number := func(pattern string) int {
		m := regexp.MustCompile(pattern).FindStringSubmatch(outbox)
		if m == nil {
			return 0
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	sequence, next := number(`Sequence: (\d+)`), number(`--- next ---\n(\d+)`)
	if step := regexp.MustCompile(`(?m)^\[FAILED\] (EDIT_FILE|DELETE_FILE|RUN_COMMAND): Interrupted`).FindString(outbox); step != "" {
		// The outbox does not tell which command was interrupted, so the whole batch is repaired.
		for i := (next - 1) * batch; i < next*batch; i++ {
			writeRepair(&b, sequence, i)
		}
		b.WriteString("[READ_FILE path=\"next\"]\n")
		return b.String()
	}
	if next >= batches {
		return "[DONE]\nfinished\n[/DONE]\n"
	}
	fmt.Fprintf(&b, "[CREATE_FILE path=\"next\"]\n%d\n[/CREATE_FILE]\n[READ_FILE path=\"next\"]\n", next+1)
	for i := next * batch; i < (next+1)*batch; i++ {
		writeStep(&b, sequence, i)
	}
	return b.String()
}

// writeStep writes the command of step i; the steps use the command types in turn. Each RUN_COMMAND
// adds a unique name to a log.
func writeStep(w io.Writer, sequence, i int) {
	switch i % 5 {
	case 0:
		fmt.Fprintf(w, "[CREATE_FILE path=\"f%d\"]\na\nb\nc\n[/CREATE_FILE]\n", i)
	case 1:
		fmt.Fprintf(w, "[EDIT_FILE path=\"f%d\" start_line=\"2\" end_line=\"2\"]\nB\nB\n[/EDIT_FILE]\n", i-1)
	case 2:
		fmt.Fprintf(w, "[RUN_COMMAND]\necho s%dc%d >> users/ran; echo x > r%d; sleep 0.0%d\n[/RUN_COMMAND]\n", sequence, i, i, i%3)
	case 3:
		fmt.Fprintf(w, "[DELETE_FILE path=\"r%d\"]\n", i-1)
	case 4:
		fmt.Fprintf(w, "[MESSAGE]\nstep %d\n[/MESSAGE]\n", i)
	}
}

// writeRepair writes commands that produce the result of a step, whether it was executed or not.
func writeRepair(w io.Writer, sequence, i int) {
	switch i % 5 {
	case 1:
		fmt.Fprintf(w, "[CREATE_FILE path=\"f%d\"]\na\nB\nB\nc\n\n[/CREATE_FILE]\n", i-1)
	case 3:
		fmt.Fprintf(w, "[RUN_COMMAND]\necho s%dc%d >> users/ran; rm -f r%d\n[/RUN_COMMAND]\n", sequence, i, i-1)
	}
}

// runOneTurn is a gateway that runs one turn in a workspace. agent selects whether a person or one
// of the models of the test binary responds.
func runOneTurn(workspace, agent string) int {
	settings := blocks.NewSettings()
	settings.Approve, settings.MaxRounds = "never", 1000
	cfg := config.Default().Terminal
	cfg.Command = "exec " + terminal.ShellQuote(os.Args[0]) + " " + agent
	if agent == "person" {
		settings.Agent, cfg.Command = agent, "false"
	}
	cfg.Protocols = config.Protocols{blocks.Name: settings}
	process.KillPersistent(workspace)
	s := process.NewSupervisor(process.SupervisorOptions{})
	defer s.Close()
	runner, err := terminal.NewRunner(terminal.Options{
		Config: cfg, Workspace: workspace, Protocol: blocks.New(cfg), Environ: os.Environ(), Supervisor: s, Log: zap.NewNop(),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	out, err := runner.Turn(context.Background(), terminal.Request{
		Envelope: terminal.Envelope{Channel: "cli", ChatID: "1", Text: "work", RunID: "1", Attempt: 1}, RunName: "run", GatewayName: workspace,
	}, protocoltest.Frames(func(f terminal.Frame) error {
		if f.Kind == terminal.Error {
			fmt.Fprintln(os.Stderr, f.Text)
		}
		return nil
	}))
	if err != nil || out.Status != terminal.Done {
		fmt.Fprintln(os.Stderr, out.Status, err)
		return 1
	}
	return 0
}

func TestASessionThatIsKilledAgainAndAgainExecutesNothingTwice(t *testing.T) {
	t.Parallel()
	kills := killtest.Rounds(t, 15, 500)
	undisturbed := t.TempDir()
	runTurns(t, undisturbed, 0, nil)
	want := readTree(t, undisturbed)
	seed := killtest.Seed()
	random := rand.New(rand.NewPCG(seed, 0))
	defer func() {
		if t.Failed() {
			t.Logf("NANOBOT_SEED=%d", seed)
		}
	}()
	killed, interruptions := 0, 0
	for killed < kills {
		workspace := t.TempDir()
		killed += runTurns(t, workspace, kills-killed, random)
		checkExecuted(t, workspace, want)
		interruptions += countInterrupted(t, workspace)
	}
	t.Logf("%d commands were interrupted by %d kills", interruptions, killed)
	if interruptions == 0 && killtest.IsLong() {
		t.Error("no kill has interrupted a command")
	}
}

// checkExecuted checks that the files are those of an undisturbed session and that no command ran
// twice.
func checkExecuted(t *testing.T, workspace, want string) {
	t.Helper()
	if got := readTree(t, workspace); got != want {
		t.Fatalf("the files differ from those of an undisturbed session:\n%s\nwant\n%s", got, want)
	}
	ran := musttest.Get(os.ReadFile(filepath.Join(workspace, "users", "ran")))(t)
	names := strings.Fields(string(ran))
	slices.Sort(names)
	if n := len(slices.Compact(slices.Clone(names))); n != len(names) {
		t.Fatalf("a command ran twice: %q", names)
	}
}

// countInterrupted counts the results of interrupted commands in all outboxes.
func countInterrupted(t *testing.T, workspace string) (n int) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(workspace, "users", "1", "blocks", "outbox", "*.txt"))
	for _, name := range names {
		outbox := musttest.Get(os.ReadFile(name))(t)
		n += strings.Count(resultsIn(string(outbox)), interrupted)
	}
	return n
}

// runTurns runs the turn repeatedly until it ends by itself. It kills the turn at most kills times
// and returns how often it did.
func runTurns(t *testing.T, workspace string, kills int, random *rand.Rand) (killed int) {
	t.Helper()
	for {
		child, log, ended := startTurn(t, workspace, "careful-model")
		var kill <-chan time.Time
		if killed < kills {
			kill = time.After(time.Duration(20+random.IntN(400)) * time.Millisecond)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("the turn failed: %v\n%s", err, log.String())
			}
			return killed
		case <-kill:
			_ = child.Signal(os.Kill)
			<-ended
			killed++
		}
	}
}

// startTurn starts a process that runs the turn. The channel gets its exit error.
func startTurn(t *testing.T, workspace, agent string) (*killtest.Child, *strings.Builder, <-chan error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "one-turn", workspace, agent)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	log := &strings.Builder{}
	cmd.Stderr = log
	child := killtest.Start(t, cmd)
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	return child, log, ended
}

// readTree returns the content of all files except for those in chat folders.
func readTree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	musttest.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "users" {
				return fs.SkipDir
			}
			return nil
		}
		raw, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&b, "%s: %q\n", rel, raw)
		return err
	}))
	return b.String()
}
