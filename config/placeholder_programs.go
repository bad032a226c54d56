package config

import (
	"regexp"
	"slices"
	"strings"
)

// startsAny is the reason for programs that start another one where its name is hard to find.
const startsAny = "can start any program"

// evaluators are programs and builtins of shells for which every argument may be code, with the
// reason.
var evaluators = reasons(map[string]string{
	"eval source . trap let rename prename file-rename":           "evaluates its arguments",
	"declare typeset local export readonly integer float nameref": "evaluates what it assigns",
	"read mapfile readarray unset getopts vared print":            "evaluates the names of variables",
	"test [ [[ exit return break continue shift wait ulimit":      "may evaluate numbers",
	"alias unalias bind complete compgen compopt coproc enable fc hash history set shopt emulate autoload zle zmodload bindkey sched zparseopts zformat repeat kill bg fg disown":                                        "changes the shell itself",
	"jobs zargs zmv run-parts xargs parallel rush entr watch watchexec nodemon pm2 hyperfine tmux screen script expect at batch crontab just rake make gmake ninja npm npx pnpm yarn bunx pdsh clush mpirun srun sbatch": "runs what its arguments say",
	"ssh autossh mosh rsh slogin scp sftp rsync sshpass": "hands its arguments to the shell of another machine",
	"su": "hands its arguments to a shell",
	"docker podman nerdctl kubectl oc lxc lxc-attach incus machinectl systemd-nspawn vagrant ansible salt socat bwrap nsjail proot xterm urxvt konsole gnome-terminal xdg-open":             startsAny,
	"execlineb sg newgrp capsh cpulimit daemon daemonize start-stop-daemon wine wine64 qemu-x86_64 qemu-aarch64 ld.so ld-linux.so ld-linux-x86-64.so ld-linux-aarch64.so ld-musl-x86_64.so": startsAny,
	"awk gawk mawk nawk original-awk goawk sed gsed mlr": "runs programs in its own language",
	"ansible-playbook ansible-console ansible-pull salt-call salt-ssh puppet nix nix-build nix-env nix-instantiate nix-shell guix rpm rpmspec cmake":    "runs programs in its own language",
	"hive beeline spark-sql trino presto snowsql bq cqlsh cypher-shell usql litecli pgcli mycli isql-fb tsql sqlite-utils datasette textql":             "runs statements in its own language",
	"psql mysql mariadb sqlite sqlite3 duckdb clickhouse clickhouse-client mongosh mongo redis-cli sqlcmd sqlplus influx isql lftp ftp smbclient bc dc": "runs statements in its own language",
	"vi vim nvim view ex ed emacs less more most gdb lldb":                                         "runs commands of its own",
	"calc swipl prolog clojure clj gforth ocaml sage wolframscript matlab scilab yacas ghc":        "runs programs in its own language",
	"osascript R octave jshell erl sbcl clisp scheme gnuplot maxima gp m4 gs ghci bpftrace dtrace": "runs programs in its own language",
	"tex latex pdflatex xelatex lualatex pdftex luatex context":                                    "runs programs in its own language",
	"convert magick identify mogrify composite montage":                                            "opens whatever its arguments describe",
})

func reasons(lists map[string]string) map[string]string {
	all := map[string]string{}
	for names, why := range lists {
		for _, name := range strings.Fields(names) {
			all[name] = why
		}
	}
	return all
}

// wrappers are programs that run another one. Options that are not named here take no value.
var wrappers = map[string]wrapper{
	"command": {}, "builtin": {}, "nohup": {}, "setsid": {}, "busybox": {}, "toybox": {}, "unbuffer": {}, "catchsegv": {}, "torify": {}, "torsocks": {}, "noglob": {}, "nocorrect": {}, "-": {}, "chronic": {}, "ifne": {},
	"eatmydata": {}, "dbus-launch": {}, "with-contenv": {}, "linux32": {}, "i386": {}, "x86_64": {}, "systemd-cat": {values: "tp", long: "--identifier --priority --stderr-priority"},
	"s6-setuidgid": {operands: 1}, "s6-envdir": {operands: 1},
	"exec":    {values: "a"},
	"time":    {values: "fo", long: "--format --output"},
	"nice":    {values: "n", long: "--adjustment"},
	"ionice":  {values: "cnpPu", long: "--class --classdata"},
	"timeout": {values: "ks", long: "--kill-after --signal", operands: 1},
	"stdbuf":  {values: "ioe", long: "--input --output --error"},
	"chrt":    {values: "TPD", operands: 1},
	"taskset": {operands: 1},
	"chroot":  {operands: 1},
	"flock":   {values: "wE", long: "--timeout --wait --conflict-exit-code", operands: 1, code: "c"},
	"env":     {values: "uC", long: "--unset --chdir", code: "S", assigns: true},
	"sudo": {
		values: "ugpCTUDRrth", code: "sie", assigns: true,
		long: "--user --group --prompt --close-from --command-timeout --other-user --chdir --chroot --role --type --host",
	},
	"doas":        {values: "uC", code: "s"},
	"pkexec":      {long: "--user"},
	"runuser":     {values: "ugGsw", long: "--user --group --supp-group --shell --whitelist-environment", code: "c"},
	"setpriv":     {long: "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig"},
	"unshare":     {values: "SGRw", long: "--setuid --setgid --root --wd"},
	"nsenter":     {values: "tSGr", long: "--target --setuid --setgid"},
	"prlimit":     {values: "p"},
	"strace":      {values: "eoEpsuaIOSPXb"},
	"ltrace":      {values: "eopsunaAlx"},
	"valgrind":    {},
	"systemd-run": {values: "pEuHM", long: "--property --setenv --unit --host --machine --uid --gid --slice --working-directory"},
	"firejail":    {}, "caffeinate": {values: "tw"}, "dbus-run-session": {}, "xvfb-run": {values: "efnps"}, "rlwrap": {}, "proxychains": {values: "f"}, "proxychains4": {values: "f"},
	"faketime": {values: "f", operands: 1},
	"tini":     {values: "e"}, "dumb-init": {}, "catatonit": {}, "gosu": {operands: 1}, "su-exec": {operands: 1}, "setuidgid": {operands: 1}, "chpst": {values: "uUbe/nmdoptfcr"},
	"ssh-agent": {values: "aEtP"}, "fakeroot": {values: "lsbi"}, "systemd-inhibit": {}, "setarch": {operands: 1}, "linux64": {}, "numactl": {values: "CmNip"}, "cgexec": {values: "g"},
	"uvx": {values: "p", long: "--from --with --python"}, "envdir": {operands: 1},
}

// shell is how every shell takes its arguments. What stands behind -c is for the code to use, and
// -s runs standard input.
var shell = interpreter{code: "c", values: "oO", opens: "s", long: "--command --rcfile --init-file", always: true}

var (
	pythons = interpreter{code: "c", values: "WX", module: "m"}
	nodes   = interpreter{code: "ep", values: "r", long: "--eval --print --require --import"}
)

// interpreters are programs that run a script. Perl and Ruby open the arguments of code that reads
// files, and a name such as "id|" is a command to Perl.
var interpreters = map[string]interpreter{
	"sh": shell, "bash": shell, "rbash": shell, "dash": shell, "ash": shell, "zsh": shell, "ksh": shell, "mksh": shell, "lksh": shell, "oksh": shell, "pdksh": shell, "yash": shell, "posh": shell,
	"fish": shell, "csh": shell, "tcsh": shell, "rc": shell, "es": shell, "elvish": shell, "nu": shell, "xonsh": shell, "pwsh": shell, "powershell": shell, "osh": shell, "ysh": shell,
	"python": pythons, "pypy": pythons, "ipython": pythons, "bpython": pythons, "jython": pythons, "micropython": pythons, "hy": pythons,
	"perl": {code: "eE", attached: "MmIiF0lxCD", opens: "np", always: true},
	"ruby": {code: "e", values: "Ir", attached: "CEFKTWx0i", opens: "np", always: true},
	"node": nodes, "nodejs": nodes, "ts-node": nodes, "coffee": nodes, "qjs": nodes,
	"raku": {code: "e", values: "MI", opens: "np", always: true}, "perl6": {code: "e", values: "MI", opens: "np", always: true},
	"irb": {code: "e", values: "rI", always: true}, "iex": {code: "e", values: "r", long: "--eval"}, "bb": {code: "e", always: true}, "swift": {code: "e"},
	"bun":     {code: "ep", values: "r", long: "--eval --print --require --preload"},
	"deno":    {},
	"tsx":     {code: "ep", long: "--eval --print"},
	"php":     {code: "rBRE", values: "dcz", module: "fF", long: "--run --process-begin --process-code --process-end"},
	"lua":     {code: "e", values: "l", script: true},
	"luajit":  {code: "e", values: "lj", script: true},
	"Rscript": {code: "e"},
	"tclsh":   {}, "wish": {}, "java": {},
	"guile":  {code: "ce", values: "Ls"},
	"racket": {code: "e", always: true}, "groovy": {code: "e"}, "scala": {code: "e"}, "julia": {code: "eE", long: "--eval --print"}, "elixir": {code: "e", long: "--eval", values: "r"},
}

// inputReaders are further programs that run what they read from standard input.
var inputReaders = strings.Fields(`eval source . xargs parallel rush ssh rsh at batch crontab psql mysql mariadb sqlite sqlite3 duckdb
	clickhouse-client mongosh redis-cli bc dc ed ex vi vim gdb lldb m4 R octave gnuplot maxima ghci erl sbcl gs tex latex expect osascript su
	irb iex ipython swipl prolog ocaml clojure clj clisp scheme jshell gforth sage gp yacas calc matlab scilab bpftrace hive beeline spark-sql cqlsh cypher-shell usql
	sftp lftp ftp smbclient sqlplus sqlcmd isql mongo clickhouse influx script sg newgrp lxc-attach machinectl systemd-nspawn socat`)

// specials are programs for which only some arguments are code.
var specials = map[string]func(words []word, i int) bool{
	"find":   findRuns,
	"git":    gitRuns,
	"jq":     jqRuns,
	"jaq":    jqRuns,
	"gojq":   jqRuns,
	"yq":     jqRuns,
	"printf": printfEvaluates,
	"deno":   func(words []word, _ int) bool { return words[1].text == "eval" },
	"tar":    behind("-I", "-F"),
	"gtar":   behind("-I", "-F"),
	"bsdtar": behind("-I", "-F"),
	"nc":     behind("-e", "-c"),
	"ncat":   behind("-e", "-c"),
	"netcat": behind("-e", "-c"),
	"fd":     after("-x", "-X", "--exec", "--exec-batch"),
	"fdfind": after("-x", "-X", "--exec", "--exec-batch"),
	"man":    behind("-P", "-H", "-p"),
	"split":  func(words []word, i int) bool { return words[i].before == "--filter=" || words[i-1].text == "--filter" },
	"gcc":    behind("-wrapper"),
	"zip":    behind("-TT"),
	"go":     behind("run", "-exec", "-toolexec"),
	"ip":     after("exec"),
	"wget":   behind("-e"),
	"pip":    installs, "gem": installs, "brew": installs, "apt": installs, "apt-get": installs, "cargo": installs,
	"python":      evaluatingModule,
	"tcpdump":     behind("-z"),
	"emacsclient": behind("-e", "-eval"),
	"crystal":     behind("eval"),
	"exiftool":    behind("-if", "-config", "-api"),
	"mutt":        behind("-e"),
	"neomutt":     behind("-e"),
	"tshark":      behind("-X"),
	"gimp":        behind("-b"),
	"fzf":         func(words []word, i int) bool { return words[i].before == "--bind=" || words[i-1].text == "--bind" },
	"pandoc":      pandocRuns,
	"uv":          launches, "poetry": launches, "pipenv": launches, "pdm": launches, "conda": launches, "mamba": launches, "micromamba": launches, "pixi": launches, "pipx": launches,
	"op": launches, "doppler": launches, "aws-vault": launches, "chamber": launches, "dotenv": launches, "direnv": launches, "mise": launches, "asdf": launches, "bundle": launches,
	"rbenv": launches, "pyenv": launches, "nodenv": launches, "infisical": launches, "sops": launches, "perf": behind("stat", "record", "--"),
}

// behind reports whether the word is the value of an option.
func behind(options ...string) func([]word, int) bool {
	return func(words []word, i int) bool { return slices.Contains(options, words[i-1].text) }
}

// launches reports whether the word names the program that such tools are to run.
var launches = behind("run", "exec", "--", "exec-env")

// installs reports whether the word names what is to be installed, which runs code of its own, or
// an option's value that may do so.
var installs = func(words []word, i int) bool { return after("install")(words, i) || behind("-o", "-c")(words, i) }

// after reports whether the word stands anywhere behind an option.
func after(options ...string) func([]word, int) bool {
	return func(words []word, i int) bool {
		return slices.ContainsFunc(words[:i], func(w word) bool { return slices.Contains(options, w.text) })
	}
}

// findRuns: find runs what stands behind -exec, and writes the files that it is told to.
func findRuns(words []word, i int) bool {
	return after("-exec", "-execdir", "-ok", "-okdir")(words, i) || behind("-fprint", "-fprintf", "-fprint0", "-fls", "-files0-from")(words, i)
}

// evaluatingModule: some modules of Python evaluate their arguments.
func evaluatingModule(words []word, i int) bool {
	return after("timeit", "pdb", "profile", "cProfile", "trace", "code")(words, i) && after("-m")(words, i)
}

// pandocRuns: a filter is a program or a script.
func pandocRuns(words []word, i int) bool {
	return slices.Contains([]string{"--filter=", "--lua-filter=", "--pdf-engine="}, words[i].before) || behind("-F", "-L", "--filter", "--lua-filter", "--pdf-engine")(words, i)
}

// gitRuns: what git calls configuration can name commands, and so can some of its commands'
// arguments.
func gitRuns(words []word, i int) bool {
	at := 1
	for ; at < i && strings.HasPrefix(words[at].text, "-"); at++ {
		if slices.Contains([]string{"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env"}, words[at].text) {
			at++
		}
	}
	return at >= i || slices.Contains([]string{"bisect", "submodule", "filter-branch", "config", "rebase", "difftool", "mergetool"}, words[at].text)
}

// jqRuns: everything may be the program but the value of --arg NAME.
func jqRuns(words []word, i int) bool { return i < 3 || words[i-2].text != "--arg" }

var textFormat = regexp.MustCompile(`^([^%]|%%|%[-0-9.]*[sbq])*$`)

// printfEvaluates: -v names a variable, the format is the operator's, and some shells calculate
// what is printed as a number.
func printfEvaluates(words []word, i int) bool {
	at := 1
	if words[at].text == "--" {
		at++
	}
	return at >= i || strings.HasPrefix(words[at].text, "-v") || !words[at].known || !textFormat.MatchString(words[at].text)
}

// runsInput names the program if it runs what it reads from standard input; "": it does not.
func runsInput(words []word) string {
	for {
		if !words[0].named {
			return "a program that is not named"
		}
		w, ok := wrappers[program(words[0])]
		if !ok {
			break
		}
		start, err := w.inner(words, len(words))
		if err != nil || start >= len(words) {
			return program(words[0])
		}
		words = words[start:]
	}
	name := program(words[0])
	stdin := func(w word) bool {
		return w.text == "-" || w.text == "/dev/stdin" || w.text == "-f-" || w.text == "-f/dev/stdin"
	}
	switch in, ok := findProgram(interpreters, name); {
	case slices.Contains(inputReaders, name):
		return name
	case ok:
		if code, rest := in.options(words); !code && rest >= len(words) || rest < len(words) && stdin(words[rest]) || slices.ContainsFunc(words, func(w word) bool { return w.text == "-s" }) {
			return name
		}
	case evaluators[name] == startsAny:
		if nested := slices.IndexFunc(words[1:], func(w word) bool { _, ok := findProgram(interpreters, program(w)); return ok }); nested >= 0 {
			return runsInput(words[1+nested:])
		}
	case evaluators[name] != "" && slices.ContainsFunc(words[1:], stdin):
		return name
	}
	return ""
}
