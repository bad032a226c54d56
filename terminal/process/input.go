package process

import (
	"os"
	"sync"
)

// input is the write end of a child's stdin. The child decides when it reads, so every write may
// take as long as the child lives; shut is what ends it.
type input struct {
	file *os.File
	// counts says that what the child has not read is counted at the end.
	counts bool
	fed    chan struct{} // closed when Options.Input has been written, or cannot be
	done   chan struct{} // closed when no more is to be written
	end    func()        // closes done
	shut   func()        // closes file under whoever still writes
	turn   sync.Mutex    // held while somebody writes behind Options.Input
	// unread is set by shut.
	unread int
}

// pipeHolds is what an empty pipe takes at the least, one page, also for a user who has too many
// pipes open.
const pipeHolds = 4096

func newInput(file *os.File, o Options) *input {
	in := &input{file: file, counts: o.KeepInput && o.Terminal == nil, fed: make(chan struct{}), done: make(chan struct{})}
	in.end = sync.OnceFunc(func() { close(in.done) })
	in.shut = sync.OnceFunc(func() {
		if in.counts {
			in.unread = unreadBytes(in.file)
		}
		in.file.Close()
	})
	if !o.KeepInput {
		in.end()
	}
	return in
}

// feed writes what comes first and closes stdin when no more is to come, behind what is being
// written.
func (in *input) feed(first []byte, exited <-chan struct{}) {
	// A child that does not care for its input closes it or exits; neither is an error.
	_, _ = in.file.Write(first)
	close(in.fed)
	select {
	case <-in.done:
	case <-exited:
	}
	in.turn.Lock()
	defer in.turn.Unlock()
	in.shut()
}

// Write writes p to the child's stdin, behind Options.Input and in one piece, from any goroutine.
// It needs Options.KeepInput. It holds no copy of p, so a child that does not read makes it wait,
// but never longer than until the child closes its stdin, or has exited and Wait was called. An
// error says that the child has not got all of p.
func (c *Child) Write(p []byte) (int, error) {
	select {
	case <-c.in.done:
		return 0, os.ErrClosed
	case <-c.in.fed:
	}
	c.in.turn.Lock()
	defer c.in.turn.Unlock()
	return c.in.file.Write(p)
}

// CloseInput ends the child's stdin once Options.Input and what is being written have gone out. It
// does not wait and may be called at any time, from any goroutine, again.
func (c *Child) CloseInput() { c.in.end() }
