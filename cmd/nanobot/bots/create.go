package bots

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/starter"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/config"
	"nanobot/internal/placeholder"
)

// Draft is a bot that is to be created.
type Draft struct {
	Command, Protocol, Template string
	// by channel: path of the file with the token; "" means no token, "-" means standard input
	TokenFiles map[string]*string
	Allow      []string
	KeepState  bool // of an earlier bot with the same name
}

// Create writes the config, the credentials and, from a template, the agent of a new bot. It
// changes no bot that exists.
func (s *Server) Create(name string, d Draft) error {
	bot, err := s.bot(name)
	if err != nil {
		return err
	}
	if err := s.checkDraft(d); err != nil {
		return err
	}
	if _, err := os.Lstat(bot.Dir()); err == nil {
		return fmt.Errorf("%s exists already and is not changed; choose another name, or run nanobot bots remove %s",
			bot.Dir(), name)
	}
	for _, dir := range bot.StateDirs() {
		if _, err := os.Lstat(dir); err == nil && !d.KeepState {
			return fmt.Errorf("%s has the users and messages of an earlier bot of this name; add --keep-state to use them, "+
				"choose another name, or run nanobot bots remove %s --purge", dir, name)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return suggestSudo(err)
		}
	}
	if err := s.writeBot(bot, d); err != nil {
		return suggestSudo(err)
	}
	if existing, _ := existingPaths(bot.UnitOverrides()); len(existing) > 0 {
		fmt.Fprintf(s.Err, "These existing files change the bot's systemd unit: %s\n", strings.Join(existing, ", "))
	}
	if s.JSON {
		return s.printBots([]systemd.Bot{bot})
	}
	fmt.Fprintf(s.Out, "Wrote %s.\n", bot.Config())
	if command, err := placeholder.Parse(config.Default().Terminal.Shell, d.Command); err == nil {
		for _, w := range command.Warnings() {
			fmt.Fprintln(s.Err, "warning: --command:", w)
		}
	}
	if len(d.tokenFiles()) == 0 {
		fmt.Fprintln(s.Out, "It has no chat network yet. Enable one in this file before you start it.")
	}
	sudo := ""
	if os.Geteuid() != 0 {
		sudo = "sudo "
	}
	_, err = fmt.Fprintf(s.Out, "To start it:  %snanobot bots start %s\n", sudo, name)
	return err
}

// TokenFlag is the name of the flag that names the file with the token of a channel.
func TokenFlag(channel string) string { return channel + "-token-file" }

// tokenFiles returns the files with tokens that were named, by channel.
func (d *Draft) tokenFiles() map[string]string {
	named := map[string]string{}
	for network, file := range d.TokenFiles {
		if *file != "" {
			named[network] = *file
		}
	}
	return named
}

func (s *Server) checkDraft(d Draft) error {
	if d.Template != "" {
		if _, ok := starter.Find(d.Template); !ok {
			return exit.Usagef("--template: must be one of %s (got %q)", strings.Join(starter.Names(), ", "), d.Template)
		}
	}
	if (d.Command == "") == (d.Template == "") {
		return exit.Usagef("add either --command or --template, so that the bot has an agent")
	}
	named, stdin := d.tokenFiles(), 0
	if len(d.Allow) > 0 && len(named) == 0 {
		var flags []string
		for _, n := range s.Networks {
			if n.Token != "" {
				flags = append(flags, "--"+TokenFlag(n.Name))
			}
		}
		return exit.Usagef("--allow needs a chat network: add %s", strings.Join(flags, " or "))
	}
	for _, file := range named {
		if file == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return exit.Usagef("only one token can come from stdin")
	}
	return nil
}

// writeBot makes the bot's folder under another name and renames it when it is complete, so that a
// bot exists whole or not at all.
func (s *Server) writeBot(bot systemd.Bot, d Draft) (err error) {
	tokens, err := d.readTokens(s.In)
	if err != nil {
		return err
	}
	if err := makePublicFolder(filepath.Dir(bot.Dir())); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(bot.Dir()), ".new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	text, err := s.botConfig(bot, d, tokens)
	if err != nil {
		return err
	}
	files := map[string]newFile{"config.json": {text, 0o644}}
	if a, ok := starter.Find(d.Template); ok {
		sources, err := a.Sources()
		if err != nil {
			return err
		}
		for name, source := range sources {
			files[name] = newFile{source, 0o755}
		}
	}
	if err := os.Mkdir(filepath.Join(tmp, "credentials"), 0o700); err != nil {
		return err
	}
	for network, token := range tokens {
		files["credentials/"+network] = newFile{[]byte(token + "\n"), 0o600}
	}
	for name, w := range files {
		if err := starter.WriteNew(filepath.Join(tmp, name), w.content, w.mode); err != nil {
			return err
		}
		// The umask must not matter: the bot's user reads the config, and only root the
		// credentials.
		if err := os.Chmod(filepath.Join(tmp, name), w.mode); err != nil {
			return err
		}
	}
	if _, err := config.Load(filepath.Join(tmp, "config.json"), nil, s.Extensions); err != nil {
		return asUsageError(err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	return os.Rename(tmp, bot.Dir())
}

// makePublicFolder makes a folder that everybody may enter, whatever the umask, and the missing
// folders above it: the bot's own user must be able to enter it.
func makePublicFolder(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makePublicFolder(filepath.Dir(dir)); err != nil {
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

// newFile is the content and mode of a file to write.
type newFile struct {
	content []byte
	mode    fs.FileMode
}

// asUsageError turns mistakes in a new config into a usage error of its flags. The file is removed,
// so its name and lines are left out.
func asUsageError(err error) error {
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

// readTokens reads the tokens, by channel.
func (d *Draft) readTokens(stdin io.Reader) (map[string]string, error) {
	all := map[string]string{}
	for network, file := range d.tokenFiles() {
		read := func() ([]byte, error) { return os.ReadFile(file) }
		if file == "-" {
			read = func() ([]byte, error) { return io.ReadAll(io.LimitReader(stdin, 1<<16)) }
		}
		b, err := read()
		if err != nil {
			return nil, exit.Usagef("--%s: %w", TokenFlag(network), err)
		}
		token := strings.TrimSpace(string(b))
		if token == "" || strings.ContainsAny(token, " \t\r\n") {
			return nil, exit.Usagef("--%s: the file must contain one token and nothing else", TokenFlag(network))
		}
		all[network] = token
	}
	return all, nil
}

// botConfig returns the new bot's config. Its paths are those on its own machine, whatever the root
// is here.
func (s *Server) botConfig(bot systemd.Bot, d Draft, tokens map[string]string) ([]byte, error) {
	installed := systemd.Bot{Root: "/", Name: bot.Name}
	terminal := map[string]any{"command": d.Command, "stderr": "onError"}
	a, _ := starter.Find(d.Template)
	if a.Command != "" {
		terminal["command"] = a.CommandIn(installed.Dir())
	}
	if a.Stdin != "" {
		terminal["stdin"] = a.Stdin
	}
	terminal["protocol"] = cmp.Or(d.Protocol, a.Protocol, s.Extensions.Default().Terminal.Protocol)
	sections := map[string]any{}
	for network := range tokens {
		allow := d.Allow
		if allow == nil {
			allow = []string{}
		}
		sections[network] = map[string]any{"enabled": true, "token": "cred:" + network, "allowFrom": allow}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out,
		"// %s on this server. After a change: nanobot check-config --config %s && systemctl reload-or-restart %s\n",
		bot.Name, installed.Config(), bot.Unit())
	err := format.WriteJSON(&out, map[string]any{
		"workspace": installed.Workspace(),
		"terminal":  terminal,
		"channels":  sections,
		"gateway":   map[string]any{"stateDir": installed.State()}, // for pair and doctor, which systemd does not start
	})
	return out.Bytes(), err
}
