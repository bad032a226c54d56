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
	"nanobot/terminal"
	"nanobot/terminal/blocks"
	"nanobot/terminal/process"
)

// batches is how many responses the careful model needs, and batch how many commands one has, with
// the two that tell the model how far it has come.
const batches, batch = 3, 10

// carefulModel is a model that works off its steps in batches and repeats what was interrupted. All
// that it knows is in the outbox.
func carefulModel() int {
	raw, _ := io.ReadAll(os.Stdin)
	outbox := string(raw)
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
		// Which one it was is not told, so all of the batch are made as they must be.
		for i := (next - 1) * batch; i < next*batch; i++ {
			repairStep(sequence, i)
		}
		fmt.Println("[READ_FILE path=\"next\"]")
		return 0
	}
	if next >= batches {
		fmt.Println("[DONE]\nfinished\n[/DONE]")
		return 0
	}
	fmt.Printf("[CREATE_FILE path=\"next\"]\n%d\n[/CREATE_FILE]\n[READ_FILE path=\"next\"]\n", next+1)
	for i := next * batch; i < (next+1)*batch; i++ {
		takeStep(sequence, i)
	}
	return 0
}

// takeStep is a command of each type in turn. Run commands log that they ran, with a name that no
// other command has.
func takeStep(sequence, i int) {
	switch i % 5 {
	case 0:
		fmt.Printf("[CREATE_FILE path=\"f%d\"]\na\nb\nc\n[/CREATE_FILE]\n", i)
	case 1:
		fmt.Printf("[EDIT_FILE path=\"f%d\" start_line=\"2\" end_line=\"2\"]\nB\nB\n[/EDIT_FILE]\n", i-1)
	case 2:
		fmt.Printf("[RUN_COMMAND]\necho s%dc%d >> users/ran; echo x > r%d; sleep 0.0%d\n[/RUN_COMMAND]\n", sequence, i, i, i%3)
	case 3:
		fmt.Printf("[DELETE_FILE path=\"r%d\"]\n", i-1)
	case 4:
		fmt.Printf("[MESSAGE]\nstep %d\n[/MESSAGE]\n", i)
	}
}

// repairStep makes what a step must leave, whatever was executed of it.
func repairStep(sequence, i int) {
	switch i % 5 {
	case 1:
		fmt.Printf("[CREATE_FILE path=\"f%d\"]\na\nB\nB\nc\n\n[/CREATE_FILE]\n", i-1)
	case 3:
		fmt.Printf("[RUN_COMMAND]\necho s%dc%d >> users/ran; rm -f r%d\n[/RUN_COMMAND]\n", sequence, i, i-1)
	}
}

// oneTurn is a gateway that runs one turn in a workspace.
func oneTurn(workspace string) int {
	settings := blocks.NewSettings()
	settings.Approve, settings.MaxRounds = "never", 1000
	cfg := config.Default().Terminal
	cfg.Command = "exec " + terminal.ShellQuote(os.Args[0]) + " careful-model"
	cfg.Protocols = config.Protocols{blocks.Name: settings}
	terminal.KillKept(workspace)
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
		Channel: "cli", ChatID: "1", Text: "work", RunID: "1", Attempt: 1, RunName: "run", GatewayName: workspace,
	}, func(f terminal.Frame) error {
		if f.Kind == terminal.Error {
			fmt.Fprintln(os.Stderr, f.Text)
		}
		return nil
	})
	if err != nil || out.Status != terminal.Done {
		fmt.Fprintln(os.Stderr, out.Status, err)
		return 1
	}
	return 0
}

func TestASessionThatIsKilledAgainAndAgainExecutesNothingTwice(t *testing.T) {
	kills := 25
	if os.Getenv("NANOBOT_LONG") != "" {
		kills = 500
	}
	undisturbed := t.TempDir()
	runTurns(t, undisturbed, 0, nil)
	want := tree(t, undisturbed)
	seed := killtest.Seed()
	random := rand.New(rand.NewPCG(seed, 0))
	defer func() {
		if t.Failed() {
			t.Logf("NANOBOT_SEED=%d", seed)
		}
	}()
	killed := 0
	for killed < kills {
		workspace := t.TempDir()
		killed += runTurns(t, workspace, kills-killed, random)
		if got := tree(t, workspace); got != want {
			t.Fatalf("the files differ from those of an undisturbed session:\n%s\nwant\n%s", got, want)
		}
		ran, err := os.ReadFile(filepath.Join(workspace, "users", "ran"))
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Fields(string(ran))
		slices.Sort(names)
		if n := len(slices.Compact(slices.Clone(names))); n != len(names) {
			t.Fatalf("a command ran twice: %q", names)
		}
	}
}

// runTurns runs the turn until it ends by itself, and kills it up to so often before. It returns how
// often that was.
func runTurns(t *testing.T, workspace string, kills int, random *rand.Rand) (killed int) {
	t.Helper()
	for {
		cmd := exec.Command(os.Args[0], "one-turn", workspace)
		cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
		var log strings.Builder
		cmd.Stderr = &log
		child := killtest.Start(t, cmd)
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
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

// tree is the content of all files but for those of chats.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
