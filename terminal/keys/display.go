package keys

import (
	"context"
	"sync"
	"time"

	"nanobot/terminal"
)

const (
	// screenQuiet is the pause in the output after which the screen is shown.
	screenQuiet = 300 * time.Millisecond
	// maxScreenAge is how often the screen of a program without such pauses is shown. Networks
	// allow fewer edits; the gateway limits the rate.
	maxScreenAge = time.Second
)

// display shows the screen of a turn while it changes.
type display struct {
	t       terminal.Turn
	s       *session
	buttons func() []terminal.ControlButton
	live    bool
	work    sync.WaitGroup
	cancel  context.CancelFunc

	mu      sync.Mutex
	caption string
	step    int
}

// displayOptions are shown together with the screen.
type displayOptions struct {
	caption string
	buttons func() []terminal.ControlButton
	live    bool // see terminal.Frame
}

// startDisplay starts to show the screen. The caller calls end before it sends anything else.
func startDisplay(ctx context.Context, t terminal.Turn, s *session, o displayOptions) *display {
	ctx, cancel := context.WithCancel(ctx)
	d := &display{t: t, s: s, buttons: o.buttons, live: o.live, cancel: cancel, caption: o.caption}
	d.work.Go(func() { d.run(ctx) })
	return d
}

func (d *display) end() {
	d.cancel()
	d.work.Wait()
}

// setCaption emits a new caption. A channel that cannot edit messages shows it as a message.
func (d *display) setCaption(text string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.caption = text
	f := d.frame()
	f.Board = false
	return d.t.Emit(f)
}

// setStep sets the number of the step that the board shows.
func (d *display) setStep(step int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.step = step
}

// fold shows the last screen with the summary of the turn.
func (d *display) fold(f *terminal.Fold) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.frame()
	last.Buttons, last.TakenOver, last.Fold = nil, false, f
	return d.t.Emit(last)
}

// frame returns the board. The caller holds mu.
func (d *display) frame() terminal.Frame {
	return terminal.Frame{
		Kind: terminal.Progress, Board: true, Text: d.caption, Screen: d.s.snapshot(), Buttons: d.buttons(), Step: d.step,
		TakenOver: d.s.isTaken(), Live: d.live,
	}
}

func (d *display) run(ctx context.Context) {
	for {
		change := d.s.changed()
		d.s.awaitQuiet(ctx, screenQuiet, maxScreenAge)
		if ctx.Err() != nil {
			return
		}
		d.emit()
		select {
		case <-change:
		case <-ctx.Done():
			return
		}
	}
}

func (d *display) emit() {
	d.mu.Lock() // also during Emit, so that no older caption follows a newer one
	defer d.mu.Unlock()
	// A refused frame does not end the turn: the next one follows soon.
	_ = d.t.Emit(d.frame())
}
