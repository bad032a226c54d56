package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/config"
)

// draft is a bot that is to be made.
type draft struct {
	command, protocol, template string
	telegram, discord           string // files with tokens
	allow                       []string
	keepState                   bool // of a bot that had the name before
}

func newBotsCreate(b *bots) *cobra.Command {
	var d draft
	names := slices.Sorted(maps.Keys(starters))
	cmd := &cobra.Command{
		Use:   "create [flags] NAME",
		Short: "Make a bot",
		Long: `Create writes the config of a new bot to /etc/nanobot/NAME/config.json, its tokens to /etc/nanobot/NAME/credentials, which only root can read and
systemd hands to the bot, and with --template a first agent beside it. It never changes a bot that is there.`,
		Example: `  nanobot bots create faq --command 'grep -i -e {message} /srv/faq.txt' --telegram-token-file token.txt
  pass show bots/helper | nanobot bots create helper --template python --telegram-token-file - --allow 123456789`,
		Args: oneBot,
		RunE: func(_ *cobra.Command, args []string) error { return b.create(args[0], d) },
	}
	flags := cmd.Flags()
	flags.StringVar(&d.command, "command", "", "the agent's shell command; {message} is the user's text, best after --, grep's -e or as --name={message}")
	flags.StringVar(&d.protocol, "protocol", "", "how its output is read: "+strings.Join(slices.Sorted(maps.Keys(protocols)), ", ")+" (default: plain; rich with --template)")
	flags.StringVar(&d.template, "template", "", "write a first agent: "+strings.Join(names, ", "))
	flags.StringVar(&d.telegram, "telegram-token-file", "", "file with the token of a Telegram bot; -: stdin")
	flags.StringVar(&d.discord, "discord-token-file", "", "file with the token of a Discord bot; -: stdin")
	flags.StringArrayVar(&d.allow, "allow", nil, "numeric id of a user who may talk to the bot, or *; may be repeated (default: whoever is paired)")
	flags.BoolVar(&d.keepState, "keep-state", false, "take over the people and messages of a bot that had this name before")
	_ = cmd.RegisterFlagCompletionFunc("template", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("protocol", cobra.FixedCompletions(slices.Sorted(maps.Keys(protocols)), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func oneBot(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Usagef("name one bot (got %d)", len(args))
	}
	return nil
}

func (b *bots) create(name string, d draft) error {
	f, err := b.files(name)
	if err != nil {
		return err
	}
	if err := d.check(); err != nil {
		return err
	}
	if _, err := os.Lstat(f.Dir()); err == nil {
		return fmt.Errorf("%s is already there and stays as it is; choose another name, or nanobot bots remove %s", f.Dir(), name)
	}
	for _, dir := range f.StateDirs() {
		if _, err := os.Lstat(dir); err == nil && !d.keepState {
			return fmt.Errorf("%s is there, with the people and messages of a bot that had this name before; say --keep-state to take them over, choose another name, or nanobot bots remove %s --purge", dir, name)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return rights(err)
		}
	}
	if err := d.write(f, b.std.in); err != nil {
		return rights(err)
	}
	if told, _ := present(f.UnitOverrides()); len(told) > 0 {
		fmt.Fprintf(b.std.err, "Its unit is not as the others': %s is there already.\n", strings.Join(told, ", "))
	}
	if b.json {
		return b.show([]systemd.Bot{f})
	}
	fmt.Fprintf(b.std.out, "Wrote %s.\n", f.Config())
	if command, err := config.ParseCommand(config.Default().Terminal.Shell, d.command); err == nil {
		for _, w := range command.Warnings() {
			fmt.Fprintln(b.std.err, "warning: --command:", w)
		}
	}
	if d.telegram == "" && d.discord == "" {
		fmt.Fprintln(b.std.out, "It has no chat network yet: enable one in there before it is started.")
	}
	_, err = fmt.Fprintf(b.std.out, "Start it:  nanobot bots start %s\n", name)
	return err
}

func (d *draft) check() error {
	if d.template != "" {
		if _, ok := starters[d.template]; !ok {
			return exit.Usagef("--template: must be one of %s (got %q)", strings.Join(slices.Sorted(maps.Keys(starters)), ", "), d.template)
		}
	}
	if (d.command == "") == (d.template == "") {
		return exit.Usagef("say what the bot runs: either --command or --template")
	}
	if len(d.allow) > 0 && d.telegram == "" && d.discord == "" {
		return exit.Usagef("--allow is of a chat network: say --telegram-token-file or --discord-token-file, too")
	}
	if d.telegram == "-" && d.discord == "-" {
		return exit.Usagef("only one token can come from stdin")
	}
	return nil
}

// write makes the bot's folder beside its place and moves it there when it is complete, so that a bot is there whole or not at all.
func (d *draft) write(f systemd.Bot, stdin io.Reader) (err error) {
	tokens, err := d.tokens(stdin)
	if err != nil {
		return err
	}
	if err := makeOpen(filepath.Dir(f.Dir())); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(f.Dir()), ".new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	text, err := d.config(f, tokens)
	if err != nil {
		return err
	}
	files := map[string]written{"config.json": {text, 0o644}}
	if s, ok := starters[d.template]; ok {
		agent, err := templates.ReadFile("templates/" + s.source)
		if err != nil {
			return fmt.Errorf("read template: %w", err)
		}
		files[s.file] = written{agent, 0o755}
	}
	if err := os.Mkdir(filepath.Join(tmp, "credentials"), 0o700); err != nil {
		return err
	}
	for network, token := range tokens {
		files["credentials/"+network] = written{[]byte(token + "\n"), 0o600}
	}
	for name, w := range files {
		if err := writeNew(filepath.Join(tmp, name), w.content, w.mode); err != nil {
			return err
		}
		// Whatever the umask: the bot's own user must be able to read the one, and nobody the other.
		if err := os.Chmod(filepath.Join(tmp, name), w.mode); err != nil {
			return err
		}
	}
	if _, err := config.Load(filepath.Join(tmp, "config.json"), nil); err != nil {
		return misuse(err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	return os.Rename(tmp, f.Dir())
}

// makeOpen makes a folder that everybody may enter, with those above it that are missing. Whatever the umask: the bot's own user must come through.
func makeOpen(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeOpen(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o755)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}

type written struct {
	content []byte
	mode    fs.FileMode
}

// misuse says what is wrong with the flags that the config was made of. The file is gone, so its name and place are left out.
func misuse(err error) error {
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) {
		return err
	}
	var all []string
	for _, m := range mistakes {
		m.File, m.Line = "", 0
		all = append(all, m.String())
	}
	return exit.Usagef("%s", strings.Join(all, "; "))
}

// tokens reads the tokens that were named, by network.
func (d *draft) tokens(stdin io.Reader) (map[string]string, error) {
	all := map[string]string{}
	for network, file := range map[string]string{"telegram": d.telegram, "discord": d.discord} {
		if file == "" {
			continue
		}
		read := func() ([]byte, error) { return os.ReadFile(file) }
		if file == "-" {
			read = func() ([]byte, error) { return io.ReadAll(io.LimitReader(stdin, 1<<16)) }
		}
		b, err := read()
		if err != nil {
			return nil, exit.Usagef("--%s-token-file: %w", network, err)
		}
		token := strings.TrimSpace(string(b))
		if token == "" || strings.ContainsAny(token, " \t\r\n") {
			return nil, exit.Usagef("--%s-token-file: must hold one token and nothing else", network)
		}
		all[network] = token
	}
	return all, nil
}

// config is the new bot's. Its paths are those of the machine it is for, whatever the root is here.
func (d *draft) config(f systemd.Bot, tokens map[string]string) ([]byte, error) {
	on := systemd.Bot{Root: "/", Name: f.Name}
	command, protocol := d.command, d.protocol
	if s, ok := starters[d.template]; ok {
		command = strings.Replace(s.command, s.file, filepath.Join(on.Dir(), s.file), 1)
		if protocol == "" {
			protocol = "rich"
		}
	}
	if protocol == "" {
		protocol = "plain"
	}
	sections := map[string]any{}
	for network := range tokens {
		allow := d.allow
		if allow == nil {
			allow = []string{}
		}
		sections[network] = map[string]any{"enabled": true, "token": "cred:" + network, "allowFrom": allow}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "// %s on this server. After a change: nanobot check-config --config %s && systemctl reload-or-restart %s\n", f.Name, on.Config(), f.Unit())
	err := format.WriteJSON(&out, map[string]any{
		"workspace": on.Workspace(),
		"terminal":  map[string]any{"command": command, "protocol": protocol},
		"channels":  sections,
		"gateway":   map[string]any{"stateDir": on.State()}, // for pair and doctor, which systemd does not tell
	})
	return out.Bytes(), err
}
