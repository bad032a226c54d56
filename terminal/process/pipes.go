package process

import (
	"os"
	"os/exec"
)

// pipes are the three pipes of a child, as far as it has them, or its terminal. They are our own
// rather than os/exec's, because StdoutPipe is closed by Wait under a reader that has not finished.
type pipes struct {
	inRead, inWrite, outRead, outWrite, errRead, errWrite *os.File
	reportRead, reportWrite                               *os.File
	terminal                                              *os.File // the slave of a pseudo-terminal, whose master is inWrite and outRead
}

func openPipes(o Options) (p pipes, err error) {
	if o.Terminal != nil {
		err = p.openTerminal(o)
	} else {
		err = p.openThree(o)
	}
	if err == nil && o.Helper {
		p.reportRead, p.reportWrite, err = os.Pipe()
	}
	if err != nil {
		p.closeAll()
		return pipes{}, err
	}
	return p, nil
}

func (p *pipes) openThree(o Options) (err error) {
	switch {
	case o.NoInput:
	case o.fitsPipe():
		p.inRead, err = filledPipe(o.Input)
	default:
		p.inRead, p.inWrite, err = pipe(true)
	}
	if err == nil {
		p.outRead, p.outWrite, err = pipe(false)
	}
	if err == nil && !o.Merge {
		p.errRead, p.errWrite, err = pipe(false)
	}
	return err
}

func (p pipes) attach(cmd *exec.Cmd) {
	if p.reportWrite != nil {
		cmd.ExtraFiles = []*os.File{p.reportWrite}
	}
	if p.terminal != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = p.terminal, p.terminal, p.terminal
		return
	}
	if p.inRead != nil { // else os/exec opens /dev/null
		cmd.Stdin = p.inRead
	}
	cmd.Stdout, cmd.Stderr = p.outWrite, p.outWrite
	if p.errWrite != nil {
		cmd.Stderr = p.errWrite
	}
}

func (p pipes) closeChildEnds() {
	closeFiles(p.inRead, p.outWrite, p.errWrite, p.reportWrite, p.terminal)
}

func (p pipes) closeAll() {
	closeFiles(p.inRead, p.inWrite, p.outRead, p.outWrite, p.errRead, p.errWrite, p.reportRead, p.reportWrite, p.terminal)
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
