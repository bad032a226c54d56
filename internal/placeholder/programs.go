package placeholder

import (
	"slices"
	"strings"
	"sync"

	"nanobot/internal/lazyregexp"
)

// startsAnyProgram is the reason for programs that start another program whose name is hard to find
// among the arguments.
const startsAnyProgram = "can start any program"

// evaluators lists the programs and shell builtins that may evaluate any of their arguments, each
// with the reason. The reason completes the sentence "NAME would evaluate the text as code, because
// it …".
var evaluators = sync.OnceValue(func() map[string]string {
	return expandProgramLists(map[string]string{
		"eval source . trap let rename prename file-rename":           "evaluates its arguments",
		"declare typeset local export readonly integer float nameref": "evaluates what it assigns",
		"read mapfile readarray unset getopts vared print":            "evaluates the names of variables",
		"test [ [[ exit return break continue shift wait ulimit":      "may evaluate numbers",
		"alias unalias bind complete compgen compopt coproc enable fc hash history set shopt emulate autoload zle zmodload " +
			"bindkey sched zparseopts zformat repeat kill bg fg disown": "changes the shell itself",
		"jobs zargs zmv run-parts xargs parallel rush entr watch watchexec nodemon pm2 hyperfine tmux screen script expect " +
			"at batch crontab just rake make gmake ninja npm npx pnpm yarn bunx": "runs what its arguments say",
		"pdsh clush mpirun srun sbatch": "runs what its arguments say",
		"sem xjobs pexec tsp nq pssh parallel-ssh dsh mussh cssh reflex watchman watchman-make when-changed concurrently " +
			"npm-run-all ttyd gotty websocketd i3-msg swaymsg hyprctl tcpserver systemd-socket-activate": "runs what its " +
			"arguments say",
		"ssh autossh mosh rsh slogin scp sftp rsync sshpass adb": "passes its arguments to the shell of another machine",
		"su": "passes its arguments to a shell",
		"docker podman nerdctl kubectl oc lxc lxc-attach incus machinectl systemd-nspawn vagrant ansible salt socat bwrap " +
			"nsjail proot xterm urxvt konsole gnome-terminal xdg-open": startsAnyProgram,
		"kitty alacritty foot wezterm terminator xfce4-terminal st rxvt x-terminal-emulator zellij abduco dtach byobu " +
			"tmate runc crun ctr crictl buildah singularity apptainer toolbox distrobox flatpak-spawn": startsAnyProgram,
		"multipass limactl lima virsh guestfish virt-customize rootlesskit minijail0 ch-run enroot": startsAnyProgram,
		"udocker rr": startsAnyProgram,
		"execlineb sg newgrp capsh cpulimit daemon daemonize start-stop-daemon wine wine64 qemu-x86_64 qemu-aarch64 ld.so " +
			"ld-linux.so ld-linux-x86-64.so ld-linux-aarch64.so ld-musl-x86_64.so": startsAnyProgram,
		"awk gawk mawk nawk original-awk goawk sed gsed mlr": "runs programs in its own language",
		"ansible-playbook ansible-console ansible-pull salt-call salt-ssh puppet nix nix-build nix-env nix-instantiate " +
			"nix-shell guix rpm rpmspec cmake": "runs programs in its own language",
		"hive beeline spark-sql trino presto snowsql bq cqlsh cypher-shell usql litecli pgcli mycli isql-fb tsql " +
			"sqlite-utils datasette textql": "runs statements in its own language",
		"psql mysql mariadb sqlite sqlite3 duckdb clickhouse clickhouse-client mongosh mongo redis-cli sqlcmd sqlplus " +
			"influx isql lftp ftp smbclient bc dc": "runs statements in its own language",
		"vi vim nvim view ex ed emacs less more most gdb lldb vimdiff rvim rview gvim gview evim kak cgdb ddd radare2 r2 " +
			"rizin msfconsole": "runs commands of its own",
		"calc swipl prolog clojure clj gforth ocaml sage wolframscript matlab scilab yacas ghc runghc runhaskell " +
			"rust-script evcxr picolisp stap": "runs programs in its own language",
		"osascript R octave jshell erl sbcl clisp scheme gnuplot maxima gp m4 gs ghci bpftrace dtrace": "runs programs in " +
			"its own language",
		"tex latex pdflatex xelatex lualatex pdftex luatex context": "runs programs in its own language",
		"convert magick identify mogrify composite montage":         "opens whatever its arguments describe",
	})
})

func expandProgramLists(lists map[string]string) map[string]string {
	all := map[string]string{}
	for names, why := range lists {
		for _, name := range strings.Fields(names) {
			all[name] = why
		}
	}
	return all
}

// wrappers are programs that run another program. Options that are not listed take no value.
var wrappers = sync.OnceValue(func() map[string]wrapper {
	return map[string]wrapper{
		"command": {}, "builtin": {}, "nohup": {}, "setsid": {}, "busybox": {}, "toybox": {}, "unbuffer": {}, "catchsegv": {},
		"torify": {}, "torsocks": {}, "noglob": {}, "nocorrect": {}, "-": {}, "chronic": {}, "ifne": {},
		"eatmydata": {}, "dbus-launch": {}, "with-contenv": {}, "linux32": {}, "i386": {}, "x86_64": {},
		"systemd-cat":  {values: "tp", long: "--identifier --priority --stderr-priority"},
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
		"doas":     {values: "uC", code: "s"},
		"pkexec":   {long: "--user"},
		"runuser":  {values: "ugGsw", long: "--user --group --supp-group --shell --whitelist-environment", code: "c"},
		"setpriv":  {long: "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig"},
		"unshare":  {values: "SGRw", long: "--setuid --setgid --root --wd"},
		"nsenter":  {values: "tSGr", long: "--target --setuid --setgid"},
		"prlimit":  {values: "p"},
		"strace":   {values: "eoEpsuaIOSPXb"},
		"ltrace":   {values: "eopsunaAlx"},
		"valgrind": {},
		"systemd-run": {
			values: "pEuHM",
			long:   "--property --setenv --unit --host --machine --uid --gid --slice --working-directory",
		},
		"firejail": {}, "caffeinate": {values: "tw"}, "dbus-run-session": {}, "xvfb-run": {values: "efnps"}, "rlwrap": {},
		"proxychains": {values: "f"}, "proxychains4": {values: "f"},
		"faketime": {values: "f", operands: 1},
		"tini":     {values: "e"}, "dumb-init": {}, "catatonit": {}, "gosu": {operands: 1}, "su-exec": {operands: 1},
		"setuidgid": {operands: 1}, "chpst": {values: "uUbe/nmdoptfcr"},
		"ssh-agent": {values: "aEtP"}, "fakeroot": {values: "lsbi"}, "systemd-inhibit": {}, "setarch": {operands: 1},
		"linux64": {}, "numactl": {values: "CmNip"}, "cgexec": {values: "g"},
		"choom":   {values: "np", long: "--adjust --pid"},
		"runcon":  {values: "turl", long: "--type --user --role --range", operands: 1},
		"aa-exec": {values: "pn", long: "--profile --namespace"}, "uclampset": {values: "mM"},
		"logsave": {operands: 1}, "softlimit": {values: "acdflmoprst"}, "setlock": {operands: 1}, "envuidgid": {operands: 1},
		"pgrphack": {}, "fghack": {}, "cross-env": {assigns: true}, "cross-env-shell": {assigns: true},
		"uvx": {values: "p", long: "--from --with --python"}, "envdir": {operands: 1},
	}
})

// anyShell describes the options of all shells. Code after -c may evaluate the remaining
// arguments, and -s executes standard input.
var anyShell = interpreter{
	code: "c", values: "oO", unsafeFlags: "s", long: "--command --rcfile --init-file",
	evaluatesArgs: true,
}

var (
	anyPython = interpreter{code: "c", values: "WX", module: "m"}
	anyNode   = interpreter{code: "ep", values: "r", long: "--eval --print --require --import"}
)

// interpreters are programs that run a script. Code of Perl and Ruby that reads files opens its
// arguments, and Perl runs a file name such as "id|" as a command.
var interpreters = sync.OnceValue(func() map[string]interpreter {
	return map[string]interpreter{
		"sh": anyShell, "bash": anyShell, "rbash": anyShell, "dash": anyShell, "ash": anyShell, "zsh": anyShell,
		"ksh": anyShell, "mksh": anyShell, "lksh": anyShell, "oksh": anyShell, "pdksh": anyShell, "yash": anyShell,
		"posh": anyShell,
		"fish": anyShell, "csh": anyShell, "tcsh": anyShell, "rc": anyShell, "es": anyShell, "elvish": anyShell,
		"nu": anyShell, "xonsh": anyShell, "pwsh": anyShell, "powershell": anyShell, "osh": anyShell, "ysh": anyShell,
		"python": anyPython, "pypy": anyPython, "ipython": anyPython, "bpython": anyPython, "jython": anyPython,
		"micropython": anyPython, "hy": anyPython,
		"perl": {code: "eE", attached: "MmIiF0lxCD", unsafeFlags: "np", evaluatesArgs: true},
		"ruby": {code: "e", values: "Ir", attached: "CEFKTWx0i", unsafeFlags: "np", evaluatesArgs: true},
		"node": anyNode, "nodejs": anyNode, "ts-node": anyNode, "coffee": anyNode, "qjs": anyNode,
		"raku":  {code: "e", values: "MI", unsafeFlags: "np", evaluatesArgs: true},
		"perl6": {code: "e", values: "MI", unsafeFlags: "np", evaluatesArgs: true},
		"irb":   {code: "e", values: "rI", evaluatesArgs: true}, "iex": {code: "e", values: "r", long: "--eval"},
		"bb": {code: "e", evaluatesArgs: true}, "swift": {code: "e"},
		"bun":     {code: "ep", values: "r", long: "--eval --print --require --preload"},
		"deno":    {},
		"tsx":     {code: "ep", long: "--eval --print"},
		"php":     {code: "rBRE", values: "dcz", module: "fF", long: "--run --process-begin --process-code --process-end"},
		"lua":     {code: "e", values: "l", scriptAfterCode: true},
		"luajit":  {code: "e", values: "lj", scriptAfterCode: true},
		"Rscript": {code: "e"},
		"tclsh":   {}, "wish": {}, "java": {},
		"janet": {code: "e", values: "lm"}, "fennel": {code: "e", long: "--eval"}, "gosh": {code: "eE", values: "lI"},
		"csi": {code: "epP"}, "kotlin": {code: "e"}, "mono": {},
		"guile":  {code: "ce", values: "Ls"},
		"racket": {code: "e", evaluatesArgs: true}, "groovy": {code: "e"}, "scala": {code: "e"},
		"julia": {code: "eE", long: "--eval --print"}, "elixir": {code: "e", long: "--eval", values: "r"},
	}
})

// inputEvaluators are further programs that execute their standard input.
var inputEvaluators = strings.Fields(`eval source . xargs parallel rush ssh rsh at batch crontab psql mysql mariadb sqlite sqlite3 duckdb
	clickhouse-client mongosh redis-cli bc dc ed ex vi vim gdb lldb m4 R octave gnuplot maxima ghci erl sbcl gs tex latex
	expect osascript su irb iex ipython swipl prolog ocaml clojure clj clisp scheme jshell gforth sage gp yacas calc
	matlab scilab bpftrace hive beeline spark-sql cqlsh cypher-shell usql
	sftp lftp ftp smbclient sqlplus sqlcmd isql mongo clickhouse influx script sg newgrp lxc-attach machinectl systemd-nspawn socat`)

// promptReaders are the tools that take their standard input for a prompt to a model, or for a part
// of it, each with the subcommand that does so, or "".
var promptReaders = map[string]string{
	"claude": "", "gemini": "", "llm": "", "codex": "exec", "opencode": "run", "ollama": "run",
}

// codeOptions are the options of programs, and words that precede an argument like an option does,
// whose value is a program, a command, code, or a file from which the program loads such.
// codeOptionPattern has the long options that mean this in every program.
var codeOptions = sync.OnceValue(func() map[string]string {
	return expandProgramLists(map[string]string{
		"tar gtar bsdtar": "-I -F --use-compress-program --to-command --checkpoint-action --rsh-command " +
			"--rmt-command --info-script --new-volume-script",
		"cpio":                          "--rsh-command",
		"zip":                           "-TT --unzip-command",
		"sort":                          "--compress-program",
		"split":                         "--filter",
		"sdiff diff3":                   "--diff-program",
		"install":                       "--strip-program",
		"nc ncat netcat nc.traditional": "-e -c --exec --sh-exec --lua-exec",
		"man":                           "-P -H -p -C --html --preprocessor --config-file",
		"gcc cc g++ c++ clang clang++":  "-wrapper -B -specs -fplugin -Xclang",
		"ld ld.bfd ld.gold ld.lld":      "-plugin --plugin",
		"go":                            "run install generate tool -exec -toolexec -vettool",
		"tcc":                           "-run",
		"zig dart nim v crystal":        "run e eval",
		"cargo":                         "--config",
		"curl":                          "-K --config",
		"wget":                          "-e --execute --config",
		"aria2c": "--on-download-start --on-download-pause --on-download-stop " +
			"--on-download-complete --on-download-error --on-bt-download-complete --conf-path",
		"yt-dlp youtube-dl": "--downloader --external-downloader --config-locations --config-location " +
			"--plugin-dirs --exec-before-download --use-postprocessor --ffmpeg-location",
		"mpv":     "--scripts --include --config-dir",
		"openssl": "-engine -provider engine",
		"openvpn": "--up --down --config --route-up --ipchange --tls-verify --auth-user-pass-verify " +
			"--client-connect --client-disconnect --learn-address --plugin",
		"tcpdump":                   "-z",
		"tshark":                    "-X",
		"ctags":                     "--options",
		"emacsclient":               "-e -eval",
		"exiftool":                  "-if -config -api",
		"mutt neomutt":              "-e -F",
		"msmtp":                     "--passwordeval --file",
		"fetchmail":                 "--mda --plugin --plugout --fetchmailrc -m -f",
		"mail mailx s-nail":         "-S -X -Y",
		"sendmail":                  "-O -C",
		"exim exim4":                "-be -C -D",
		"gpg gpg2":                  "--photo-viewer --agent-program --dirmngr-program --pinentry-program --options",
		"lynx":                      "-editor -cfg -exec",
		"elinks":                    "-eval -remote",
		"w3m":                       "-o -config",
		"gimp":                      "-b",
		"fzf":                       "--bind",
		"pandoc":                    "-F -L --filter --lua-filter --pdf-engine --defaults -d",
		"scrot":                     "-e",
		"rofi":                      "-run-command -terminal -window-command -modi -modes",
		"xdotool":                   "exec",
		"asciinema wetty termtosvg": "-c",
		"ttyrec":                    "-e",
		"vifm lf cmus-remote":       "-c -C -command -remote",
		"newsboat":                  "-x -C",
		"weechat":                   "-r",
		"sysdig frida":              "-c -e -l",
		"perf":                      "stat record trace --",
		"uv poetry pipenv pdm conda mamba micromamba pixi pipx": "run exec --",
		"op doppler aws-vault chamber dotenv dotenvx direnv mise asdf bundle rbenv pyenv nodenv volta nvm fnm infisical " +
			"sops stack foreman honcho overmind": "run exec -- exec-env",
		"flatpak snap heroku bun":   "run install",
		"fly flyctl":                "-C",
		"apk":                       "add",
		"dpkg":                      "-i --install --unpack",
		"pacman":                    "-U -S -Sy -Syu",
		"jsonnet":                   "-e",
		"sshfs":                     "-o",
		"ssh-keygen":                "-D",
		"ssh-add":                   "-s",
		"sshuttle":                  "-e --ssh-cmd",
		"rclone":                    "--sftp-ssh --config",
		"restic":                    "-o --option",
		"borg":                      "--rsh",
		"duplicity":                 "--ssh-options --rsync-options",
		"rdiff-backup":              "--remote-schema",
		"unison":                    "-sshcmd -rshcmd -sshargs -diff -merge",
		"hg":                        "--config --ssh -e --remotecmd",
		"svn":                       "--config-option --config-dir",
		"git":                       "--config-env --template --smtp-server --browser --extcmd",
		"helm":                      "--post-renderer",
		"consul-template envconsul": "-exec --",
		"tox fab":                   "--",
		"wp drush":                  "eval php:eval ev",
		"pytest":                    "-p -c",
		"cowsay cowthink":           "-f",
		"codex":                     "-c --config",
		"claude":                    "--mcp-config --settings --plugin-dir",
	})
})

// hasCodeOption reports whether words[i] is the value of one of the options: the word after it, or
// all or a part of what follows its =. Long options may be shortened, as getopt_long allows, and
// short ones may end a group, as in -xvI.
func hasCodeOption(options string, words []commandWord, i int) bool {
	before := words[i-1].text
	attached, _, joined := strings.Cut(words[i].textBefore, "=")
	for option := range strings.FieldsSeq(options) {
		switch {
		case before == option, joined && attached == option:
			return true
		case strings.HasPrefix(option, "--"):
			if len(before) > 3 && strings.HasPrefix(option, before) || joined && len(attached) > 3 &&
				strings.HasPrefix(option, attached) {
				return true
			}
		case len(option) == 2 && option[0] == '-' && shortOptionGroup().MatchString(before) &&
			strings.HasSuffix(before, option[1:]):
			return true
		}
	}
	return false
}

var shortOptionGroup = lazyregexp.New(`^-[A-Za-z]{2,5}$`)

// partialEvaluators are programs that evaluate only some of their arguments, in ways that
// codeOptions cannot describe.
var partialEvaluators = map[string]func(words []commandWord, i int) bool{
	"find":   findEvaluates,
	"git":    gitEvaluates,
	"jq":     jqEvaluates,
	"jaq":    jqEvaluates,
	"gojq":   jqEvaluates,
	"yq":     jqEvaluates,
	"printf": printfEvaluates,
	"tar":    tarEvaluates,
	"gtar":   tarEvaluates,
	"deno":   func(words []commandWord, _ int) bool { return words[1].text == "eval" },
	"fd":     followsAny("-x", "-X", "--exec", "--exec-batch"),
	"fdfind": followsAny("-x", "-X", "--exec", "--exec-batch"),
	"ip":     followsAny("exec"),
	"pip":    isInstalledPackage, "gem": isInstalledPackage, "brew": isInstalledPackage, "apt": isInstalledPackage,
	"apt-get": isInstalledPackage, "cargo": isInstalledPackage,
	"python": pythonModuleEvaluates,
	"nomad":  followsAny("exec"), "consul": followsAny("exec", "lock", "watch"), "gh": followsAny("alias"),
	"dnf": isInstalledPackage, "yum": isInstalledPackage, "uv": followsAny("install"), "pipx": followsAny("install"),
}

// isValueOf returns a function that reports whether words[i] directly follows one of the options.
func isValueOf(options ...string) func([]commandWord, int) bool {
	return func(words []commandWord, i int) bool { return slices.Contains(options, words[i-1].text) }
}

// isInstalledPackage reports whether words[i] is a package to install, which may run code, or the
// value of an option that may.
var isInstalledPackage = func(words []commandWord, i int) bool {
	return followsAny("install")(words, i) || isValueOf("-o", "-c")(words, i)
}

// followsAny returns a function that reports whether one of the options precedes words[i].
func followsAny(options ...string) func([]commandWord, int) bool {
	return func(words []commandWord, i int) bool {
		return slices.ContainsFunc(words[:i], func(w commandWord) bool { return slices.Contains(options, w.text) })
	}
}

// findEvaluates: find executes the arguments after -exec, and writes to files that options name.
func findEvaluates(words []commandWord, i int) bool {
	return followsAny("-exec", "-execdir", "-ok", "-okdir")(words, i) ||
		isValueOf("-fprint", "-fprintf", "-fprint0", "-fls", "-files0-from")(words, i)
}

// tarEvaluates: the first argument of tar may be a group of options without a dash, whose values
// follow in their order.
func tarEvaluates(words []commandWord, _ int) bool {
	return !strings.HasPrefix(words[1].text, "-") && len(words[1].placeholders) == 0 &&
		strings.ContainsAny(words[1].text, "IF")
}

// pythonModuleEvaluates: some modules of Python evaluate their arguments, and pip installs
// packages.
func pythonModuleEvaluates(words []commandWord, i int) bool {
	return followsAny("timeit", "pdb", "profile", "cProfile", "trace", "code", "install")(words, i) &&
		followsAny("-m")(words, i)
}

// gitEvaluates: configuration and some arguments of git subcommands can be commands.
func gitEvaluates(words []commandWord, i int) bool {
	at := 1
	for ; at < i && strings.HasPrefix(words[at].text, "-"); at++ {
		if slices.Contains([]string{"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env"}, words[at].text) {
			at++
		}
	}
	ext := strings.HasPrefix(words[i].textBefore, "ext::") ||
		followsAny("protocol.ext.allow=always", "protocol.allow=always")(words, i)
	if ext || followsAny("clone")(words, i) && isValueOf("-c", "--config", "-u")(words, i) {
		return true
	}
	return at >= i || slices.Contains([]string{
		"hook", "remote-ext", "web--browse", "bisect", "submodule", "filter-branch",
		"config", "rebase", "difftool", "mergetool",
	}, words[at].text)
}

// jqEvaluates: any argument may be the program, except the value of --arg NAME.
func jqEvaluates(words []commandWord, i int) bool { return i < 3 || words[i-2].text != "--arg" }

var textOnlyFormat = lazyregexp.New(`^([^%]|%%|%[-0-9.]*[sbq])*$`)

// printfEvaluates: the text must not be the format or the variable after -v, and some shells
// evaluate arguments that the format prints as numbers.
func printfEvaluates(words []commandWord, i int) bool {
	at := 1
	if words[at].text == "--" {
		at++
	}
	return at >= i || strings.HasPrefix(words[at].text, "-v") || !words[at].complete ||
		!textOnlyFormat().MatchString(words[at].text)
}

// inputEvaluator returns the name of the program if it executes its standard input, or "".
func inputEvaluator(words []commandWord) string {
	for {
		if !words[0].nameKnown {
			return "a program whose name is not known in advance"
		}
		w, ok := wrappers()[programName(words[0])]
		if !ok {
			break
		}
		start, err := w.findProgram(words, len(words))
		if err != nil || start >= len(words) {
			return programName(words[0])
		}
		words = words[start:]
	}
	name := programName(words[0])
	stdin := func(w commandWord) bool {
		isEnd := func(end string) bool { return strings.HasSuffix(w.text, end) }
		return w.text == "-" || w.text == "-f-" || slices.ContainsFunc([]string{"=-", "/dev/stdin", "/fd/0"}, isEnd)
	}
	// Options that have an interpreter read commands from its input, and Python's module that does.
	reads := func(w commandWord) bool { return w.text == "-s" || w.text == "-i" || w.text == "code" }
	switch in, ok := lookupProgram(interpreters(), name); {
	case slices.Contains(inputEvaluators, name):
		return name
	case ok:
		if code, rest := in.parseOptions(words); !code && rest >= len(words) || rest < len(words) && stdin(words[rest]) ||
			slices.ContainsFunc(words, reads) {
			return name
		}
	case evaluators()[name] == startsAnyProgram:
		if nested := slices.IndexFunc(words[1:],
			func(w commandWord) bool { _, ok := lookupProgram(interpreters(), programName(w)); return ok }); nested >= 0 {
			return inputEvaluator(words[1+nested:])
		}
	case evaluators()[name] != "" && slices.ContainsFunc(words[1:], stdin):
		return name
	}
	return ""
}
