package config_test

import (
	"slices"
	"testing"

	"nanobot/config"
)

func TestThePlaceholderIsTakenWhereItsQuotesHold(t *testing.T) {
	for _, command := range []string{
		"", "cat", `echo "quoted" 'also'`, "echo {message}", "prog -m {message} -v", "prog --text={message}", "a {message} | b {message} && c", "x=$(prog {message}); echo $x",
		"(cd /x && prog {message})", "while read -r l; do prog {message}; done", "prog {message} > out.txt # done", "prog 'it is' {message}",
	} {
		if err := config.CheckCommand("/bin/sh", command); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestThePlaceholderIsReadAsTheShellReadsIt(t *testing.T) {
	for command, shells := range map[string][]string{
		`echo $'\'' {message} ''`:             {"/bin/bash"}, // to dash the second quote is still open
		"echo {message}":                      {"/bin/sh", "/bin/bash", "/usr/bin/zsh", "dash"},
		"for ((;;)); do echo {message}; done": {"/bin/bash"},
	} {
		for _, shell := range []string{"/bin/sh", "/bin/bash", "/usr/bin/zsh", "dash", "/usr/bin/fish"} {
			want := slices.Contains(shells, shell) || shell == "/usr/bin/zsh" && slices.Contains(shells, "/bin/bash")
			if err := config.CheckCommand(shell, command); (err == nil) != want {
				t.Errorf("%s: %s: %v", shell, command, err)
			}
		}
	}
	for _, command := range []string{"(( x = {message} ))", "[[ {message} -eq 1 ]]", "a[{message}]=1", "let y={message}", "eval echo {message}"} {
		if config.CheckCommand("/bin/bash", command) == nil {
			t.Errorf("%s is accepted", command)
		}
	}
}

func TestThePlaceholderIsRefusedWhereAUserCouldRunCommands(t *testing.T) {
	for _, command := range []string{
		`echo "{message}"`, `echo '{message}'`, "echo `prog {message}`", `sh -c "prog {message}"`, `echo "$(prog {message})"`, `echo \{message}`, `echo \\\{message}`,
		"cat <<X\n{message}\nX", "echo hi # {message}", "echo ${message}", "echo $((1+{message}))", "echo $'{message}'", "echo {message} \"{message}\"", "echo ( {message}",
	} {
		if config.CheckCommand("/bin/sh", command) == nil {
			t.Errorf("%s is accepted", command)
		}
	}
}
