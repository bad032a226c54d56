package highlight

import "github.com/alecthomas/chroma/v2"

// keys marks the keys at the beginning of lines.
func keys(pattern string) []chroma.Rule { return []chroma.Rule{{Pattern: pattern, Type: name}} }

// languages are those that answers have most often.
var languages = []language{
	{
		names:   "go golang",
		comment: "//", block: true, quotes: `" '`, raw: "`",
		keywords: "" +
			"break case chan const continue default defer else fallthrough for func go goto if import " +
			"interface map package range return select struct switch type var any bool byte error float32 " +
			"float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr",
	},
	{
		names:   "js javascript jsx mjs cjs node ts typescript tsx",
		comment: "//", block: true, quotes: `" '`, raw: "`",
		keywords: "" +
			"as async await break case catch class const continue debugger declare default delete do else " +
			"enum export extends finally for from function get if implements import in instanceof interface " +
			"keyof let namespace new of private protected public readonly return set static super switch " +
			"this throw try type typeof var void while with yield any boolean number string unknown never",
	},
	{
		names: "python py python3 pyi",
		first: keys(`(?m)^[ \t]*@[\w.]+`), comment: "#", quotes: `" '`, raw: `""" '''`,
		keywords: "" +
			"and as assert async await break case class continue def del elif else except finally for from " +
			"global if import in is lambda match nonlocal not or pass raise return self try while with " +
			"yield",
	},
	{
		names: "sh bash shell zsh fish ksh",
		first: []chroma.Rule{{Pattern: `\$(?:\w+|\{[^}\n]{0,99}\}|[?@#*!$-])`, Type: name}}, comment: `(?<!\S)#`,
		quotes: `"`, raw: "'", keywords: "" +
			"alias break case cd continue do done echo elif else esac eval exec exit export fi for function " +
			"if in local printf read readonly return set shift source sudo then trap unset until while",
	},
	{
		names: "console terminal shell-session",
		first: []chroma.Rule{
			{Pattern: `(?m)^[$#>] .*`, Type: keyword}, {Pattern: `(?m)^.+`, Type: other},
		},
	},
	{
		names: "json jsonc json5 jsonl",
		first: keys(`"(?:\\.|[^"\\\n])*"(?=\s*:)`), comment: "//", block: true, quotes: `"`,
	},
	{
		names: "yaml yml",
		first: keys(`(?m)^[ \t]*(?:- +)?[\w./-]+(?=:(?:\s|$))`), comment: `(?<!\S)#`, quotes: `" '`,
		keywords: "" +
			"yes no on off",
	},
	{
		names: "toml ini conf cfg properties systemd env dotenv",
		first: keys(`(?m)^[ \t]*(?:\[[^\]\n]*\]|[\w.-]+(?=[ \t]*=))`), comment: `(?<!\S)[#;]`,
		quotes: `" '`, raw: `""" '''`,
	},
	{
		names: "html xml svg xhtml vue svelte plist",
		first: []chroma.Rule{
			{Pattern: `<!--[\s\S]*?(?:-->|\z)`, Type: comment},
			{Pattern: `</?[\w:-]+|/?>`, Type: keyword},
			{Pattern: `[\w:@-]+(?==)`, Type: name},
			{Pattern: `(?<==)(?:"[^"]*"?|'[^']*'?)`, Type: str},
			{Pattern: `&#?\w{1,20};`, Type: constant},
			{Pattern: `[\w:@-]+`, Type: other},
			{Pattern: `[\s\S]`, Type: other},
		},
	},
	{
		names: "css scss less sass",
		first: []chroma.Rule{
			{Pattern: `@[\w-]+|![\w-]+`, Type: keyword},
			{Pattern: `[\w-]+(?=\s*:[^:\n{]*[;}\n])|--[\w-]+`, Type: name},
			{Pattern: `#[\da-fA-F]{3,8}\b|-?\d+(?:\.\d+)?(?:[a-z]+|%)?`, Type: constant},
			{Pattern: `[\w-]+`, Type: other},
		}, comment: `(?<!:)//`, block: true, quotes: `" '`,
	},
	{
		names:   "sql postgres postgresql mysql sqlite plpgsql",
		comment: "--", block: true, quotes: `' "`, any: true,
		keywords: "" +
			"add all alter and any as asc begin between by case cascade check column commit constraint " +
			"create cross database default delete desc distinct drop else end exists explain foreign from " +
			"full function group having if ilike in index inner insert into is join key language left like " +
			"limit not on or order outer primary references replace returning returns right rollback schema " +
			"select set table then to transaction trigger union unique update using values view when where " +
			"with bigint boolean bytea char date int integer json jsonb numeric real serial text timestamp " +
			"timestamptz uuid varchar",
	},
	{
		names: "c h cpp c++ cc hpp cxx objc arduino",
		first: keys(`(?m)^[ \t]*#[ \t]*\w+`), comment: "//", block: true, quotes: `" '`,
		keywords: "" +
			"alignas auto bool break case catch char class const constexpr continue default delete do " +
			"double else enum explicit extern final float for friend goto if inline int long mutable " +
			"namespace new noexcept operator override private protected public register return short signed " +
			"sizeof static static_cast struct switch template this throw try typedef typename union " +
			"unsigned using virtual void volatile while size_t int8_t int16_t int32_t int64_t uint8_t " +
			"uint16_t uint32_t uint64_t",
	},
	{
		names: "java kotlin kt kts scala groovy gradle dart",
		first: keys(`@\w+`), comment: "//", block: true, quotes: `" '`, raw: `"""`,
		keywords: "" +
			"abstract as assert boolean break byte case catch char class companion const continue data " +
			"default def do double else enum extends extension final finally float for fun if implements " +
			"import in instanceof int interface internal is late lateinit long mixin native new object open " +
			"operator override package private protected public record required return sealed short static " +
			"super suspend switch synchronized this throw throws trait try typealias val var void volatile " +
			"when while with yield",
	},
	{
		names:   "csharp cs c# fsharp fs",
		comment: "//", block: true, quotes: `" '`,
		keywords: "" +
			"abstract as async await base bool break byte case catch char class const continue decimal " +
			"default delegate do double else enum event explicit extern finally fixed float for foreach get " +
			"goto if implicit in int interface internal is lock long namespace new object operator out " +
			"override params private protected public readonly record ref return sealed set short sizeof " +
			"static string struct switch this throw try typeof uint ulong using value var virtual void " +
			"volatile when where while yield let match module mutable of open then type with",
	},
	{
		names: "rust rs",
		first: keys(`#!?\[[^\]\n]{0,99}\]|\b\w+!(?=[(\[{])`), comment: "//", block: true, quotes: `"`,
		keywords: "" +
			"as async await break const continue crate dyn else enum extern fn for if impl in let loop " +
			"match mod move mut pub ref return self Self static struct super trait type union unsafe use " +
			"where while bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize",
	},
	{
		names: "swift",
		first: keys(`@\w+`), comment: "//", block: true, quotes: `"`, raw: `"""`,
		keywords: "" +
			"actor any as associatedtype async await break case catch class continue default defer deinit " +
			"do else enum extension fallthrough fileprivate for func guard if import in init inout internal " +
			"is lazy let mutating open operator override private protocol public repeat required return " +
			"self Self some static struct subscript super switch throw throws try typealias var weak where " +
			"while",
	},
	{
		names: "php",
		first: keys(`\$\w+`), comment: "//|#", block: true, quotes: `" '`,
		keywords: "" +
			"abstract and array as break case catch class clone const continue declare default do echo else " +
			"elseif enum extends final finally fn for foreach function global if implements include " +
			"instanceof interface isset list match namespace new or print private protected public readonly " +
			"require return static switch throw trait try unset use var while yield",
	},
	{
		names: "ruby rb elixir ex exs crystal",
		first: keys(`(?<![\w:]):\w+|@+\w+`), comment: "#", quotes: `" '`, raw: `"""`,
		keywords: "" +
			"alias and begin break case class def defmodule defp do else elsif end ensure fn for if import " +
			"in include module next not or private puts raise require require_relative rescue return self " +
			"super then unless until use when while with yield",
	},
	{
		names:   "lua",
		comment: "--", quotes: `" '`,
		keywords: "" +
			"and break do else elseif end for function goto if in local not or repeat return then until " +
			"while",
	},
	{
		names: "haskell hs elm",
		first: keys(`(?m)^\w+(?= +::)`), comment: "--", quotes: `"`,
		keywords: "" +
			"as case class data deriving do else foldl forall hiding if import in infix infixl infixr " +
			"instance let module newtype of qualified then type where",
	},
	{
		names: "perl pl r julia jl nim",
		first: keys(`[$@%]\w+`), comment: "#", quotes: `" '`,
		keywords: "" +
			"begin break const do else elseif elsif end for foreach function if import in let library local " +
			"macro module mutable my next our package proc return struct sub type unless until use using " +
			"var while",
	},
	{
		names: "dockerfile docker containerfile",
		first: keys(`\$(?:\w+|\{[^}\n]{0,99}\})`), comment: `(?<!\S)#`, quotes: `" '`,
		keywords: "" +
			"ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL ONBUILD RUN SHELL STOPSIGNAL " +
			"USER VOLUME WORKDIR",
	},
	{
		names: "make makefile mk cmake",
		first: keys(`(?m)^[\w./%-]+(?=\s*:)|\$[({][^)}\n]{0,99}[)}]|\$[@<^*]`), comment: "#", quotes: `" '`,
		keywords: "" +
			"define else elseif endef endif endfunction endforeach export foreach function if ifdef ifeq " +
			"ifndef ifneq include override set",
	},
	{
		names: "nginx caddyfile hcl terraform tf",
		first: keys(`(?m)^[ \t]*[\w-]+(?=[ \t]|$)|\$\w+`), comment: `(?<!\S)#|//`, quotes: `" '`,
	},
	{
		names: "diff patch",
		first: []chroma.Rule{
			{Pattern: `(?m)^(?:\+\+\+|---|diff |index |@@).*`, Type: keyword},
			{Pattern: `(?m)^\+.*`, Type: inserted},
			{Pattern: `(?m)^-.*`, Type: deleted},
			{Pattern: `(?m)^.+`, Type: other},
		},
	},
}
