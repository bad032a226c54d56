package keys

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/screen"
)

const (
	// hangupGrace is the time between SIGHUP and SIGKILL when a terminal is closed.
	hangupGrace = 2 * time.Second
	// readSize is the size of one read from the pseudo-terminal. The kernel returns up to 4 KiB.
	readSize = 16 << 10
)

// session is a program on a pseudo-terminal, with its screen. It lives until it is closed or the
// program exits.
type session struct {
	agent       *terminal.Agent
	input       *inputQueue
	log         *chatLog
	recording   *recording
	idleTime    time.Duration   // without input, after which a person hands the terminal back
	firstOutput <-chan struct{} // closed at the first output
	typing      sync.WaitGroup  // the goroutine that writes input
	ended       chan struct{}   // closed when all processes are dead and exit is set
	exit        terminal.AgentExit

	// typingLock has an element while several keys are typed, so that the input of others comes
	// before or after all of them.
	typingLock chan struct{}

	chosenSize atomic.Pointer[string] // by /size during the turn; nil: none

	mu           sync.Mutex
	screen       *screen.Screen
	lastActivity time.Time     // time of the last output or keystroke, or of the first screen
	change       chan struct{} // closed at the next output; nil if nobody waits
	takeover     takeover
	size         process.Size
	keyRow       int  // index of the row of keys that is shown
	hasTurn      bool // a turn shows what is typed
	resizable    bool // people choose its size
	expired      bool // the chat has begun a new conversation: no other turn may use the session
}

// openOptions configures a session.
type openOptions struct {
	launch func(terminal.PersistentOptions) (*terminal.Agent, error)
	args   []string // the program; nil means the agent's command
	env    []string // environment of the program, without the variables of a terminal
	size   process.Size
	sized  bool // people choose the size
	idle   time.Duration
	log    *chatLog
	onExit func(*session) // called once, when all processes in the terminal have exited
}

// openSession starts a program on a terminal.
func openSession(o openOptions) (*session, error) {
	agent, err := o.launch(terminal.PersistentOptions{Args: o.args, Env: terminalEnv(o.env), Terminal: &o.size})
	if err != nil {
		return nil, err
	}
	first := make(chan struct{})
	s := &session{
		agent: agent, log: o.log, idleTime: o.idle, ended: make(chan struct{}), lastActivity: time.Now(), change: first,
		firstOutput: first, size: o.size, resizable: o.sized, typingLock: make(chan struct{}, 1),
		screen: screen.New(int(o.size.Columns), int(o.size.Rows)),
		input:  newInputQueue(agent),
	}
	s.recording = o.log.startRecording(o.size)
	s.typing.Go(s.input.run)
	go s.run(o.onExit) // Close waits for it
	return s, nil
}

// terminalEnv returns the environment variables that a program on a terminal needs in addition to
// env.
func terminalEnv(env []string) []string {
	add := []string{"TERM=xterm-256color"}
	isLocale := func(v string) bool {
		name, value, _ := strings.Cut(v, "=")
		return (name == "LANG" || name == "LC_ALL" || name == "LC_CTYPE") && value != ""
	}
	if !slices.ContainsFunc(env, isLocale) {
		add = append(add, "LANG=C.UTF-8")
	}
	return add
}

// run reads the output until the program has exited, and then cleans up.
func (s *session) run(onExit func(*session)) {
	buf := make([]byte, readSize)
	for {
		n, err := s.agent.Stdout.Read(buf)
		if n > 0 {
			s.handleOutput(buf[:n])
		}
		if err != nil { // any read error means that the terminal has ended
			break
		}
	}
	// A terminal that every process has closed is of no use, even if a process still runs.
	stop := time.AfterFunc(hangupGrace, func() { s.agent.Stop(hangupGrace) })
	s.exit = s.agent.Wait()
	stop.Stop()
	s.input.close()
	s.typing.Wait()
	s.notifyWatchers()
	onExit(s)
	close(s.ended)
}

// handleOutput draws output on the screen and replies to the terminal queries in it.
func (s *session) handleOutput(output []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recording.addOutput(output, s.screen)
	_, _ = s.screen.Write(output)
	if replies := s.screen.TakeReplies(); len(replies) > 0 {
		s.input.add(replies, maxReplies)
	}
	s.lastActivity = time.Now()
	s.notifyWatchersLocked()
}

func (s *session) notifyWatchers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notifyWatchersLocked()
}

func (s *session) notifyWatchersLocked() {
	if s.change != nil {
		close(s.change)
		s.change = nil
	}
}

// changed returns a channel that is closed at the next output or when the program exits.
func (s *session) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.change == nil {
		s.change = make(chan struct{})
	}
	return s.change
}

// Close ends all processes in the terminal and returns when they are dead.
func (s *session) Close() {
	s.agent.Stop(hangupGrace)
	<-s.ended
}

// Reusable reports whether another turn may use the session.
func (s *session) Reusable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.expired && !s.isDead()
}

// expire keeps later turns from using the session.
func (s *session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = true
}

func (s *session) isDead() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// errShellExited means that the terminal's program has exited.
var errShellExited = errors.New("the shell has exited")

// untilExit returns a context that ends with errShellExited when the program exits. The caller
// calls stop.
func (s *session) untilExit(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-s.ended:
			cancel(errShellExited)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		watch.Wait()
	}
}

// interrupt discards unread input and sends Ctrl-C to the program in the terminal, or SIGINT if the
// program does not read.
func (s *session) interrupt() {
	if !s.input.discard() {
		s.input.add([]byte{interruptKey}, maxQueued)
		return
	}
	// The first call makes room for the write in progress. Errors mean that the program has exited
	// meanwhile.
	for range maxFlushes {
		_ = s.agent.DiscardInput()
		if s.input.awaitWritten(flushPause) {
			break
		}
	}
	_ = s.agent.DiscardInput()
	_ = s.agent.Interrupt()
}

const (
	// maxFlushes and flushPause limit how long interrupt waits for a write to end.
	maxFlushes, flushPause = 10, 20 * time.Millisecond
)

// interruptKey is the byte that Ctrl-C sends.
const interruptKey = 3

// setInTurn sets whether a turn shows what is typed.
func (s *session) setInTurn(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hasTurn = on
}

func (s *session) inTurn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasTurn
}

// snapshot returns a copy of the screen.
func (s *session) snapshot() *screen.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.Snapshot()
}

// text returns the scrollback with the screen, and the screen alone.
func (s *session) text() (buffer, visible string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.Buffer(), s.screen.Text()
}

// pressKeys sends keystrokes, encoded for the modes that the program has set by now. It returns
// when the program was given all of them, or does not read. It reports false if the input queue is
// full.
func (s *session) pressKeys(ctx context.Context, keystrokes string) bool {
	s.mu.Lock()
	modes := Modes{ApplicationCursor: s.screen.ApplicationCursor(), ApplicationKeypad: s.screen.ApplicationKeypad()}
	s.mu.Unlock()
	p := Encode(keystrokes, modes)
	if len(p) == 1 && p[0] == interruptKey && s.input.isStuck() {
		s.interrupt()
		return true
	}
	return s.write(ctx, p)
}

// typeText types a text, even if it is the name of a key. Line ends are sent as Enter (CR).
func (s *session) typeText(ctx context.Context, text string) bool {
	return s.write(ctx, []byte(lineEnds.Replace(text)))
}

func (s *session) write(ctx context.Context, p []byte) bool {
	ok := s.input.write(ctx, p)
	s.recordActivity()
	return ok
}

func (s *session) recordActivity() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastActivity = time.Now()
}

// quietFor returns the time since the last input or output.
func (s *session) quietFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.lastActivity)
}

// awaitQuiet returns when there was no input or output for the time quiet, when the program has
// exited, or after the limit. A program is not quiet because the machine stands still.
func (s *session) awaitQuiet(ctx context.Context, quiet, limit time.Duration) {
	end, stop := process.After(limit)
	defer stop()
	for {
		rest := quiet - s.quietFor()
		if rest <= 0 || !s.wait(ctx, rest, end) {
			return
		}
	}
}

// wait waits until d has passed, not counting time in which this process could not run. It reports
// false if the limit, the exit of the terminal's program or the end of ctx came first.
func (s *session) wait(ctx context.Context, d time.Duration, limit <-chan struct{}) bool {
	over, stop := process.After(d)
	defer stop()
	select {
	case <-over:
		return true
	case <-limit:
	case <-s.ended:
	case <-ctx.Done():
	}
	return false
}

const (
	// firstOutputTimeout is how long a program that was just started has to print something.
	firstOutputTimeout = 5 * time.Second
	// promptQuiet is the pause after which a shell has drawn its prompt, which takes several
	// writes.
	promptQuiet = 150 * time.Millisecond
	// stoppedQuiet limits how long an interrupted program is awaited.
	stoppedQuiet = 2 * time.Second
)

// awaitPrompt waits until a new program has drawn its first screen.
func (s *session) awaitPrompt(ctx context.Context) {
	late, stop := process.After(firstOutputTimeout)
	defer stop()
	select {
	case <-s.firstOutput:
		s.awaitQuiet(ctx, promptQuiet, firstOutputTimeout)
		s.recordActivity() // the machine may have stood still since the program's last output
	case <-late:
	case <-s.ended:
	case <-ctx.Done():
	}
}
