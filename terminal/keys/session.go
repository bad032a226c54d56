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
	agent *terminal.Agent
	input *inputQueue
	log   *chatLog
	work  sync.WaitGroup // reader and writer
	dead  chan struct{}  // closed when all processes are dead; ended is set by then
	ended terminal.Ended

	mu     sync.Mutex
	screen *screen.Screen
	active time.Time     // of the last output or keystroke
	change chan struct{} // closed at the next output; nil: nobody waits
	hands  hands
	turn   bool // a turn of the chat uses the session
}

// openOptions says what a session is made of.
type openOptions struct {
	keep func(terminal.KeepOptions) (*terminal.Agent, error)
	args []string // the program; nil: the agent's command
	env  []string // of the program, before what a terminal adds
	size process.Size
	log  *chatLog
	died func(*session) // called when the program has ended by itself or was closed
}

// open starts a program on a terminal.
func open(o openOptions) (*session, error) {
	agent, err := o.keep(terminal.KeepOptions{Args: o.args, Env: terminalEnv(o.env), Terminal: &o.size})
	if err != nil {
		return nil, err
	}
	s := &session{
		agent: agent, log: o.log, dead: make(chan struct{}), active: time.Now(),
		screen: screen.New(int(o.size.Columns), int(o.size.Rows)),
		input:  newInputQueue(agent),
	}
	s.log.begin(s.screen.Snapshot())
	s.work.Go(s.input.run)
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
	s.ended = s.agent.Wait()
	s.input.close()
	s.work.Wait()
	close(s.dead)
	s.wake()
	died(s)
}

// draw shows output on the screen, and answers the queries in it.
func (s *session) draw(output []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.record(output, s.screen)
	_, _ = s.screen.Write(output)
	if replies := s.screen.TakeReplies(); len(replies) > 0 {
		s.input.reply(replies)
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

// Reusable reports whether the program still runs.
func (s *session) Reusable() bool { return !s.isDead() }

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

// interrupt sends Ctrl-C to what runs in the terminal. It never waits.
func (s *session) interrupt() { s.input.add([]byte{interruptKey}, mostQueued) }

// interruptKey is the byte that Ctrl-C sends.
const interruptKey = 3

// setTurn says whether a turn uses the session, and shows it.
func (s *session) setTurn(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = on
}

func (s *session) hasTurn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn
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
// has been given all of them, or does not read.
func (s *session) press(ctx context.Context, keystrokes string) {
	s.mu.Lock()
	modes := Modes{ApplicationCursor: s.screen.ApplicationCursor(), ApplicationKeypad: s.screen.ApplicationKeypad()}
	s.mu.Unlock()
	s.write(ctx, Encode(keystrokes, modes))
}

// typeText types a text as it is, even one that is the name of a key. The Enter key sends CR.
func (s *session) typeText(ctx context.Context, text string) {
	s.write(ctx, []byte(lineEnds.Replace(text)))
}

func (s *session) write(ctx context.Context, p []byte) {
	s.input.write(ctx, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = time.Now()
}

// quietFor returns how long nothing was typed and nothing was written.
func (s *session) quietFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.active)
}

// awaitQuiet returns when nothing was typed or written for a while, when the program has ended, or after
// the limit.
func (s *session) awaitQuiet(ctx context.Context, quiet, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		rest := quiet - s.quietFor()
		if rest <= 0 {
			return
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-s.dead:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// awaitPrompt waits until a program that was just started has drawn its first screen.
func (s *session) awaitPrompt(ctx context.Context) {
	select {
	case <-s.changed():
	case <-time.After(firstOutput):
	case <-ctx.Done():
	}
	s.awaitQuiet(ctx, promptQuiet, firstOutput)
}

const (
	// firstOutput is how long a program has to draw something, and promptQuiet how long it then
	// writes nothing when it is ready: shells draw their prompt in several writes.
	firstOutput, promptQuiet = 5 * time.Second, 150 * time.Millisecond
)
