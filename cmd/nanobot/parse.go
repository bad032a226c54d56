package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/terminal"
)

// maxParsed bounds how much output is read, in bytes.
const maxParsed = 64 << 20

func newParse(std stdio) *cobra.Command {
	var protocol, format string
	names, objects, formats := parsers()
	cmd := &cobra.Command{
		Use:   "parse --protocol NAME [flags] [FILE|-]",
		Short: "Show how nanobot reads the output of an agent",
		Long: `Parse reads the output of an agent from a file or from stdin and prints, as one JSON object, what a protocol
finds in it. It runs nothing and reads no config.
` + objects + `
Exit status: 0 the output is valid, 1 it is not, 2 wrong usage.`,
		Example: fmt.Sprintf(`  python3 agent.py < envelope.json | nanobot parse --protocol %s
  nanobot parse --protocol %[1]s output.txt`, names[len(names)-1]),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("parse reads one FILE (got %d)", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if protocol == "" {
				return exit.Usagef("parse: add --protocol: %s or %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
			}
			if !slices.Contains(names, protocol) {
				return exit.Usagef("--protocol: must be one of %s (got %q)", strings.Join(names, ", "), protocol)
			}
			p, _ := findProtocol(protocol)
			format, err := chooseFormat(p, format)
			if err != nil {
				return err
			}
			output, err := readOutput(args, std.in)
			if err != nil {
				return err
			}
			object, ok := p.Parser.Parse(output, format)
			return printParsed(std.out, object, ok)
		},
	}
	cmd.Flags().StringVar(&protocol, "protocol", "", "protocol of the agent: "+strings.Join(names, ", "))
	cmd.Flags().StringVar(&format, "format", "", "format of the output, if the protocol has several"+formats)
	_ = cmd.RegisterFlagCompletionFunc("protocol", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("format",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			p, _ := findProtocol(protocol)
			return p.Parser.Formats, cobra.ShellCompDirectiveNoFileComp
		})
	return cmd
}

// parsers returns the names of the protocols that can parse an output, and the text of the help
// about their objects and formats.
func parsers() (names []string, objects, formats string) {
	var o, f strings.Builder
	for _, name := range protocolNames() {
		p, _ := findProtocol(name)
		if p.Parser.Parse == nil {
			continue
		}
		names = append(names, name)
		fmt.Fprintf(&o, "  %s: %s\n", name, p.Parser.Object)
		if p.Parser.Formats != nil {
			fmt.Fprintf(&f, "; %s: %s", name, strings.Join(p.Parser.Formats, ", "))
		}
	}
	return names, o.String(), f.String()
}

// chooseFormat returns the format of the flag, or else the default of the protocol.
func chooseFormat(p terminal.Description, format string) (string, error) {
	formats := p.Parser.Formats
	switch {
	case format == "" && len(formats) > 0:
		return formats[0], nil
	case format != "" && len(formats) == 0:
		return "", exit.Usagef("--format: protocol %s has only one format; leave the flag out", p.Name)
	case format != "" && !slices.Contains(formats, format):
		return "", exit.Usagef("--format: must be one of %s (got %q)", strings.Join(formats, ", "), format)
	}
	return format, nil
}

// readOutput reads the output of an agent from a file, or from stdin without one or for "-".
func readOutput(args []string, in io.Reader) (string, error) {
	name := "stdin"
	if len(args) > 0 && args[0] != "-" {
		name = args[0]
		file, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer file.Close()
		in = file
	}
	b, err := io.ReadAll(io.LimitReader(in, maxParsed+1))
	if err != nil {
		return "", fmt.Errorf("read output from %s: %w", name, err)
	}
	if len(b) > maxParsed {
		return "", fmt.Errorf("read output from %s: it is larger than %d MiB", name, maxParsed>>20)
	}
	return string(b), nil
}

// printParsed prints the result of a parser. ok says that the output is valid; otherwise the
// program ends with status 1.
func printParsed(out io.Writer, object any, ok bool) error {
	line, err := terminal.EncodeLine(object)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	if _, err := out.Write(line); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	if !ok {
		return exit.Error{Status: exit.Failed}
	}
	return nil
}
