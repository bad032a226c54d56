package config_test

import (
	"testing"

	"nanobot/config"
)

func TestThePlaceholderIsTakenWhereItsQuotesHold(t *testing.T) {
	for _, command := range []string{
		"", "cat", `echo "quoted" 'also'`, "echo {message}", "prog -m {message} -v", "prog --text={message}", "a {message} | b {message} && c", "x=$(prog {message}); echo $x",
		"(cd /x && prog {message})", "while read -r l; do prog {message}; done", "prog {message} > out.txt # done", "prog 'it is' {message}",
	} {
		if err := config.CheckCommand(command); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestThePlaceholderIsRefusedWhereAUserCouldRunCommands(t *testing.T) {
	for _, command := range []string{
		`echo "{message}"`, `echo '{message}'`, "echo `prog {message}`", `sh -c "prog {message}"`, `echo "$(prog {message})"`, `echo \{message}`, `echo \\\{message}`,
		"cat <<X\n{message}\nX", "echo hi # {message}", "echo ${message}", "echo $((1+{message}))", "echo $'{message}'", "echo {message} \"{message}\"", "echo ( {message}",
	} {
		if config.CheckCommand(command) == nil {
			t.Errorf("%s is accepted", command)
		}
	}
}
