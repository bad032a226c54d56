package keys

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"nanobot/terminal"
	"nanobot/terminal/process"
	"nanobot/terminal/screen"
)

const (
	// hangup is how long the programs of a terminal that is closed have to end before they are
	// killed.
	hangup = 2 * time.Second
	// readSize is how much is read from the pseudo-terminal at once. The kernel hands out 4 KiB.
	readSize = 16 << 10
)

// session is a program on a pseudo-terminal, with the screen that it draws. It lives until it is
// closed or the program exits.
type session struct {
	agent     *terminal.Agent
	input     *inputQueue
	log       *chatLog
	recording *recording
	idle      time.Duration   // without input of a person, after which they hand back
	first     <-chan struct{} // closed at the first output
	typing    sync.WaitGroup  // the writer
	dead      chan struct{}   // closed when all processes are dead; ended is set by then
	ended     terminal.AgentExit

	// order is held by who types several keys, so that others type before or after all of them.
	order sync.Mutex

	mu       sync.Mutex
	screen   *screen.Screen
	active   time.Time     // of the last output or keystroke
	change   chan struct{} // closed at the next output; nil: nobody waits
	takeover takeover
	hasTurn  bool // a turn of the chat uses the session
	expired  bool // the chat starts afresh, so that no other turn may use the session
}

// openOptions says what a session is made of.
type openOptions struct {
	keep func(terminal.PersistentOptions) (*terminal.Agent, error)
	args []string // the program; nil: the agent's command
	env  []string // of the program, before what a terminal adds
	size process.Size
	idle time.Duration
	log  *chatLog
	died func(*session) // called once, when everything in the terminal has ended
}

// open starts a program on a terminal.
func open(o openOptions) (*session, error) {
	agent, err := o.keep(terminal.PersistentOptions{Args: o.args, Env: terminalEnv(o.env), Terminal: &o.size})
	if err != nil {
		return nil, err
	}
	first := make(chan struct{})
	s := &session{
		agent: agent, log: o.log, idle: o.idle, dead: make(chan struct{}), active: time.Now(), change: first, first: first,
		screen: screen.New(int(o.size.Columns), int(o.size.Rows)),
		input:  newInputQueue(agent),
	}
	s.recording = o.log.startRecording(o.size)
	s.typing.Go(s.input.run)
	go s.run(o.died) // Close waits for it
	return s, nil
}

// terminalEnv is what a program on the terminal finds in its environment beside that of the agent.
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

// run reads the program's output and cleans up after its end.
func (s *session) run(died func(*session)) {
	buf := make([]byte, readSize)
	for {
		n, err := s.agent.Stdout.Read(buf)
		if n > 0 {
			s.draw(buf[:n])
		}
		if err != nil { // a terminal that cannot be read has ended, whatever the reason
			break
		}
	}
	// A terminal that every process has closed is of no use, even if a process lives.
	stop := time.AfterFunc(hangup, func() { s.agent.Stop(hangup) })
	s.ended = s.agent.Wait()
	stop.Stop()
	s.input.close()
	s.typing.Wait()
	s.wake()
	died(s)
	close(s.dead)
}

// draw shows output on the screen, and answers the queries in it.
func (s *session) draw(output []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recording.add(output, s.screen)
	_, _ = s.screen.Write(output)
	if replies := s.screen.TakeReplies(); len(replies) > 0 {
		s.input.add(replies, mostReplies)
	}
	s.active = time.Now()
	s.wakeLocked()
}

func (s *session) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeLocked()
}

func (s *session) wakeLocked() {
	if s.change != nil {
		close(s.change)
		s.change = nil
	}
}

// changed returns a channel that is closed at the next output or at the program's end.
func (s *session) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.change == nil {
		s.change = make(chan struct{})
	}
	return s.change
}

// Close ends the program and everything that was started in the terminal. It returns when all of it
// is dead.
func (s *session) Close() {
	s.agent.Stop(hangup)
	<-s.dead
}

// Reusable reports whether another turn may use the session.
func (s *session) Reusable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.expired && !s.isDead()
}

// expire keeps other turns from using the session.
func (s *session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = true
}

func (s *session) isDead() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

// errShellExited says that the terminal's program has ended.
var errShellExited = errors.New("the shell has exited")

// whileAlive returns a context that ends with errShellExited when the program does. stop must be
// called.
func (s *session) whileAlive(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-s.dead:
			cancel(errShellExited)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		watch.Wait()
	}
}

// interrupt drops what was typed and not read, and sends Ctrl-C to what runs in the terminal, or
// SIGINT if that does not read.
func (s *session) interrupt() {
	if !s.input.drop() {
		s.input.add([]byte{interruptKey}, mostQueued)
		return
	}
	// The first time makes room for what is just being written. Errors say that the program has
	// ended meanwhile.
	for range mostFlushes {
		_ = s.agent.DiscardInput()
		if s.input.awaitWritten(flushPause) {
			break
		}
	}
	_ = s.agent.DiscardInput()
	_ = s.agent.Interrupt()
}

const (
	// mostFlushes and flushPause bound how long interrupt waits for a write to end.
	mostFlushes, flushPause = 10, 20 * time.Millisecond
)

// interruptKey is the byte that Ctrl-C sends.
const interruptKey = 3

// setTurn says whether a turn uses the session, and shows its screen.
func (s *session) setTurn(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hasTurn = on
}

func (s *session) inTurn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasTurn
}

// snapshot returns the screen as it is.
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

// press sends keystrokes, by the modes that the program has set by now. It returns when the program
// has been given all of them, or does not read. It reports false if too much waits already.
func (s *session) press(ctx context.Context, keystrokes string) bool {
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

// typeText types a text as it is, even one that is the name of a key. The Enter key sends CR.
func (s *session) typeText(ctx context.Context, text string) bool {
	return s.write(ctx, []byte(lineEnds.Replace(text)))
}

func (s *session) write(ctx context.Context, p []byte) bool {
	ok := s.input.write(ctx, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = time.Now()
	return ok
}

// quietFor returns how long nothing was typed and nothing was written.
func (s *session) quietFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.active)
}

// awaitQuiet returns when nothing was typed or written for the time quiet, when the program has
// ended, or after the limit.
func (s *session) awaitQuiet(ctx context.Context, quiet, limit time.Duration) {
	end := time.NewTimer(limit)
	defer end.Stop()
	for {
		rest := quiet - s.quietFor()
		if rest <= 0 {
			return
		}
		select {
		case <-time.After(rest):
		case <-end.C:
			return
		case <-s.dead:
			return
		case <-ctx.Done():
			return
		}
	}
}

const (
	// firstOutput is how long a program that was just started has to write something.
	firstOutput = 5 * time.Second
	// promptQuiet is the pause after which a shell has drawn its prompt, which takes several
	// writes.
	promptQuiet = 150 * time.Millisecond
)

// awaitPrompt waits until a program that was just started has drawn its first screen.
func (s *session) awaitPrompt(ctx context.Context) {
	select {
	case <-s.first:
	case <-time.After(firstOutput):
	case <-s.dead:
	case <-ctx.Done():
	}
	s.awaitQuiet(ctx, promptQuiet, firstOutput)
}
