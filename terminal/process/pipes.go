package process

import "os"

// pipes are the three pipes of a child. They are our own rather than os/exec's, because StdoutPipe is
// closed by Wait under a reader that has not finished.
type pipes struct {
	inRead, inWrite, outRead, outWrite, errRead, errWrite *os.File
}

func openPipes() (p pipes, err error) {
	p.inRead, p.inWrite, err = pipe(true)
	if err == nil {
		p.outRead, p.outWrite, err = pipe(false)
	}
	if err == nil {
		p.errRead, p.errWrite, err = pipe(false)
	}
	if err != nil {
		p.closeAll()
		return pipes{}, err
	}
	return p, nil
}

func (p pipes) closeChildEnds() { closeFiles(p.inRead, p.outWrite, p.errWrite) }

func (p pipes) closeAll() {
	closeFiles(p.inRead, p.inWrite, p.outRead, p.outWrite, p.errRead, p.errWrite)
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
