package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"nanobot/cmd/nanobot/exit"
	"nanobot/deploy/examples"
)

// demoExamples maps words of the demo to folders in deploy/examples: the examples of the protocol's
// specification.
var demoExamples = map[string]string{
	"minimal": "minimal-python", "stateful": "stateful-python", "image": "image-python", "analyzer": "analyzer-python",
	"user-images": "user-images-python", "errors": "errors-python",
}

// runExample passes the message, without its first word, to an agent of deploy/examples, whose
// output becomes the output of this agent.
func (d demoAgent) runExample(folder string) error {
	source, err := examples.Agents.ReadFile(folder + "/agent.py")
	if err != nil {
		return fmt.Errorf("read example: %w", err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		d.printFrame(demoFrame{
			Type: "error", Text: "This example needs python3, which is not installed on this machine.",
			Code: "NO_PYTHON",
		})
		return exit.Error{Status: exit.Failed}
	}
	envelope := d.envelope
	envelope.Text = strings.TrimSpace(envelope.Text)
	envelope.Text = strings.TrimSpace(envelope.Text[len(strings.Fields(envelope.Text)[0]):])
	line, err := json.Marshal(envelope)
	if err != nil {
		return fmt.Errorf("write envelope: %w", err)
	}
	cmd := exec.Command(python, "-c", string(source))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(line, '\n')), d.std.out, d.std.err
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return exit.Error{Status: ended.ExitCode()}
	}
	return err
}
