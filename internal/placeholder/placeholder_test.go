package placeholder_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"nanobot/internal/musttest"
	"nanobot/internal/placeholder"
	"nanobot/internal/wanttest"
)

// placeholderCase is one line of testdata/cases.txt.
type placeholderCase struct{ want, shell, command string }

func placeholderCases(t *testing.T) []placeholderCase {
	t.Helper()
	table := musttest.Get(os.ReadFile("testdata/cases.txt"))(t)
	var all []placeholderCase
	for line := range strings.Lines(string(table)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 {
			t.Fatalf("not three columns: %q", line)
		}
		all = append(all, placeholderCase{f[0], f[1], strings.ReplaceAll(f[2], `\n`, "\n")})
	}
	return all
}

func TestPlaceholdersAreClassifiedAsTheTableSays(t *testing.T) {
	for _, v := range placeholderCases(t) {
		c, err := placeholder.Parse(v.shell, v.command)
		got := "allowed"
		switch {
		case err != nil:
			got = "refused"
		case len(c.Warnings()) > 0:
			got = "warned"
		}
		if got != v.want {
			t.Errorf("%s: %s: is %s, want %s (%v)", v.shell, v.command, got, v.want, err)
		}
		if err != nil && !strings.Contains(err.Error(), "is not a valid shell command") && (!strings.Contains(err.Error(), "NANOBOT_TEXT") || !strings.Contains(err.Error(), "standard input")) {
			t.Errorf("%s: the error does not name the alternatives: %v", v.command, err)
		}
	}
}

func TestASpaceIsAddedOnlyWhereADashCouldStartAnOption(t *testing.T) {
	quote := func(s string) string { return "<" + s + ">" }
	for command, want := range map[string]string{
		"prog {message}":                         "prog < -x>",
		"prog -- {message}":                      "prog -- <-x>",
		"prog --a={message} {message}.txt":       "prog --a=<-x> < -x>.txt",
		"grep -e {message} a{message} {message}": "grep -e <-x> a<-x> < -x>",
	} {
		c := musttest.Get(placeholder.Parse("/bin/sh", command))(t)
		wanttest.Equal(t, command+":", c.Expand("-x", quote), want)
		if got := c.Expand("{message}", quote); strings.Count(got, "<{message}>") != strings.Count(command, placeholder.Message) {
			t.Errorf("a placeholder in the text: %s", got)
		}
	}
}

func TestThePlaceholderIsAcceptedWhereItsQuotesAreSafe(t *testing.T) {
	for _, command := range []string{
		"", "cat", `echo "quoted" 'also'`, "echo {message}", "prog -m {message} -v", "prog --text={message}", "a {message} | b {message} && c", "x=$(prog {message}); echo $x",
		`x=$(printf %s {message}); [ "$x" = yes ] || printf '%s\n' "$x"`, `n=$(grep -c -e {message} faq.txt); [ "$n" -gt 0 ] && echo "$n" | cat`,
		"chronic prog {message}", "systemd-cat -t bot grep -e {message} faq.txt", "exiftool {message}", "apt show {message}", "fzf --filter={message}",
		"tar xf x.tar {message}", "tar -xf x.tar -- {message}", "git clone -- {message}", "git add -u {message}", "sort -t {message} faq.txt", "go doc {message}", "uv run ask -c {message}",
		"jsonnet --ext-str q={message} ask.jsonnet", "hg log -k {message}", "flatpak run ask {message}", "choom -n 5 -- grep -e {message} faq.txt", "openssl passwd {message}",
		"(cd /x && prog {message})", "while read -r l; do prog {message}; done", "prog {message} > out.txt # done", "prog 'it is' {message}",
	} {
		if _, err := placeholder.Parse("/bin/sh", command); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestThePlaceholderIsParsedByTheGrammarOfTheShell(t *testing.T) {
	for command, shells := range map[string][]string{
		`echo $'\'' {message} ''`:             {"/bin/bash"}, // to dash the second quote is still open
		"echo {message}":                      {"/bin/sh", "/bin/bash", "/usr/bin/zsh", "dash"},
		"for ((;;)); do echo {message}; done": {"/bin/bash"},
		`x=$(printf %s {message}); [[ $x == yes ]] && echo "${x:0:9}"`: {"/bin/bash"},
	} {
		for _, shell := range []string{"/bin/sh", "/bin/bash", "/usr/bin/zsh", "dash", "/usr/bin/fish"} {
			want := slices.Contains(shells, shell) || shell == "/usr/bin/zsh" && slices.Contains(shells, "/bin/bash")
			if _, err := placeholder.Parse(shell, command); (err == nil) != want {
				t.Errorf("%s: %s: %v", shell, command, err)
			}
		}
	}
}

// FuzzTheTextStaysOneWord searches for accepted commands whose structure the text can change.
func FuzzTheTextStaysOneWord(f *testing.F) {
	table := musttest.Get(os.ReadFile("testdata/cases.txt"))(f)
	for line := range strings.Lines(string(table)) {
		if c := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(c) == 3 {
			f.Add(c[1], strings.ReplaceAll(c[2], `\n`, "\n"))
		}
	}
	f.Fuzz(func(t *testing.T, shell, command string) {
		c, err := placeholder.Parse(shell, command)
		if err != nil || !c.HasPlaceholder() {
			return
		}
		variant := map[string]syntax.LangVariant{"bash": syntax.LangBash, "zsh": syntax.LangZsh, "ksh": syntax.LangMirBSDKorn, "mksh": syntax.LangMirBSDKorn}[filepath.Base(shell)]
		if variant == 0 {
			variant = syntax.LangPOSIX
		}
		quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
		plain, hostile := commandStructure(variant, c.Expand("a", quote)), commandStructure(variant, c.Expand("$(b) `c`; d\n# <<E | e && \"f\" 'g' ${h} {i,j} *", quote))
		if plain != hostile {
			t.Errorf("%q: the text changes the command:\n%s\n%s", command, plain, hostile)
		}
	})
}

// commandStructure lists the kinds of nodes of a parsed command, without quoted texts.
func commandStructure(variant syntax.LangVariant, command string) string {
	file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(command), "")
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	quotes := false // a quote within the text makes several parts of the word
	syntax.Walk(file, func(n syntax.Node) bool {
		switch p := n.(type) {
		case nil:
		case *syntax.SglQuoted:
			quotes = true
		case *syntax.Lit:
			if !quotes || p.Value != `\'` {
				quotes = false
				b.WriteString(" " + p.Value)
			}
		default:
			quotes = false
			fmt.Fprintf(&b, " %T", n)
		}
		return true
	})
	return b.String()
}

func TestAFileMayOnlyReplaceTheEndOfAnUnquotedWord(t *testing.T) {
	for command, want := range map[string]bool{
		"cat {file}": true, "cat <{file}": true, "x --in={file} | y": true, `f={file}; cat "$f"`: true, `echo "$(cat {file})"`: true,
		"cat {file};tr a b <{file}": true, "case {file} in *) ;; esac": true,
		`sh -c "cat {file} -"`: false, `cat '{file}'`: false, `cat " {file} "`: false, "cat {file}.wav": false, "cat {file}{file}": false,
		`cat \{file}`: false, "cat <<E\n{file}\nE": false, "cat # {file}": false, `echo "${x:-{file}}"`: false, "if {file}": false,
	} {
		if got := placeholder.EndsWords("/bin/sh", command, "{file}"); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}
