package process

import (
	"os"
	"os/exec"
)

// pipes are the standard streams of a child: three pipes or a terminal. os/exec's StdoutPipe is not
// used because Wait closes it under a reader that has not finished.
type pipes struct {
	inRead, inWrite, outRead, outWrite, errRead, errWrite *os.File
	reportRead, reportWrite                               *os.File
	terminal                                              *os.File // the slave of a pseudo-terminal, whose master is inWrite and outRead
}

func openPipes(o Options) (p pipes, err error) {
	if o.Terminal != nil {
		err = p.openTerminal(o)
	} else {
		err = p.openStdio(o)
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

func (p *pipes) openStdio(o Options) (err error) {
	switch {
	case o.NoInput:
	case o.inputFitsPipe():
		p.inRead, err = filledPipe(o.Input)
	default:
		p.inRead, p.inWrite, err = newPipe(true)
	}
	if err == nil {
		p.outRead, p.outWrite, err = newPipe(false)
	}
	if err == nil && !o.MergeStderr {
		p.errRead, p.errWrite, err = newPipe(false)
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

// closeChildEnds closes the ends that only the child uses. With Options.DelayInput, the read end of
// its stdin stays open, to count what it leaves there.
func (p pipes) closeChildEnds(o Options) {
	if !o.DelayInput {
		closeFiles(p.inRead)
	}
	closeFiles(p.outWrite, p.errWrite, p.reportWrite, p.terminal)
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
