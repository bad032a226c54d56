#!/bin/sh
# Installs, upgrades and removes nanobot; --help lists the options. Everything is in functions that
# the last line runs, so that a copy of which the end is missing does nothing.
set -eu
# A release writes these.
version=''
base=''
key=''

usage() {
	cat <<END
Installs nanobot into ~/.local/bin, or replaces the version that is there.

  install.sh [--from URL] [--version vX] [--system]
  install.sh --uninstall [--system]

  --from URL     the address of the releases: ${base:-this copy names none}
  --version vX   the version: ${version:-this copy names none}
  --system       install the .deb, .rpm or .apk, for bots on a server
  --uninstall    remove the program; configs and states stay
END
}

say() { printf '%s\n' "$*"; }

fail() {
	printf '%s\n' "install.sh: $*" "$outcome" >&2
	exit "$status"
}

has() { command -v "$1" >/dev/null 2>&1; }

# interrupt first ends the download, which would go on writing.
interrupt() {
	[ -z "$child" ] || { kill "$child" && wait "$child"; } 2>/dev/null || :
	status=$1
	fail "interrupted."
}

find_platform() {
	case $(uname -s)-$(uname -m) in
	Linux-x86_64) platform=linux-amd64 ;;
	Linux-aarch64) platform=linux-arm64 ;;
	Linux-armv7* | Linux-armv8l) platform=linux-armv7 ;;
	Darwin-arm64) platform=darwin-arm64 ;;
	*) fail "nanobot is released for Linux on amd64, arm64 and armv7 and for macOS on arm64, not for $(uname -sm)." \
		"Build it from its source: CGO_ENABLED=0 go build ./cmd/nanobot" ;;
	esac
	# A 32-bit system may have a 64-bit kernel, as on a Raspberry Pi.
	[ "$platform" != linux-arm64 ] || [ "$(getconf LONG_BIT 2>/dev/null)" != 32 ] || platform=linux-armv7
}

find_manager() {
	if has apt-get; then
		format=deb install='apt-get install -y --allow-downgrades' remove='apt-get purge -y'
	elif has dnf; then
		format=rpm install='dnf install -y' remove='dnf remove -y'
	elif has zypper; then
		format=rpm install='zypper -n install --allow-unsigned-rpm --oldpackage' remove='zypper -n remove'
	elif has apk; then
		format=apk install='apk add --allow-untrusted' remove='apk del'
	else
		fail "--system needs apt-get, dnf, zypper or apk, and this system has none of them. Leave --system out."
	fi
	sudo=''
	[ "$(id -u)" = 0 ] || sudo=sudo
	[ -z "$sudo" ] || has sudo || fail "--system needs root. Run it as root, or install sudo."
}

# find_installed sets old to the installed version. What is no program of ours is never replaced, and
# a symbolic link neither: it leads to what someone else manages, such as a checkout.
find_installed() {
	old=''
	[ ! -L "$program" ] || fail "$program is a symbolic link. Remove it first: rm $program"
	[ ! -d "$program" ] || fail "$program is a folder. Move it away first."
	[ -e "$program" ] || return 0
	answer=$("$program" version 2>&1 </dev/null) || :
	case $answer in
	'nanobot '*' (go'*) old=${answer#nanobot } old=${old%% *} ;;
	*) fail "$program is another program, or broken. Move it away first: mv $program $program.old" ;;
	esac
}

# is_older compares as v1.0.0.rc.1 < v1.0.0.~ < v1.0.1.~, because ~ is after all letters.
is_older() {
	first=$(printf '%s\n' "$1" "$2" | sed 's/.*/& &/; /-/!s/ /.~ /; s/-/./' |
		sort -t. -k1.2,1n -k2,2n -k3,3n -k4,4 -k5,5n | head -n 1)
	[ "${first#* }" = "$1" ]
}

# make_temp removes what runs of this machine have left that were killed; no host name has a plus.
make_temp() {
	run=$1/.nanobot-$(uname -n)+
	for left in "$run"*-??????; do
		pid=${left#"$run"}
		kill -0 "${pid%-*}" || rm -rf "$left" || :
	done 2>/dev/null
	temp=$(mktemp -d "$run$$-XXXXXX" 2>/dev/null) || fail "cannot write into $1: is it read-only, full or not yours?"
	chmod 755 "$temp" # apt-get reads packages as a user of its own
}

# reason says why the last step failed: a full disk, or the last line that it printed. wget prints
# nothing when a connection ends early, and the helper of apt a last line without the reason.
reason() {
	free=$(df -Pk "$temp" 2>/dev/null | { read -r _ && read -r _ _ _ free _ && say "$free"; }) || free=''
	last=$(grep -v '^E: Download Failed' "$temp/said" | tail -n 1)
	[ "${free:-1024}" -ge 1024 ] || last="the disk of ${temp%/*} is full"
	say "${last:-the connection ended early}"
}

# download becomes what this system has for downloads; a bare Debian has only the helper of apt.
download() {
	case $base in https:*) allowed='=https' ;; *) allowed='=http,https' ;; esac
	! has curl || exec curl -fsSL --proto "$allowed" --connect-timeout 30 --speed-time 60 -o "$2" "$1"
	! has wget || exec wget -nv -t 2 -O "$2" "$1"
	apt=/usr/lib/apt/apt-helper
	[ ! -x $apt ] || exec $apt -o APT::Sandbox::User=root -o Acquire::Retries=1 download-file "$1" "$2"
	say "neither curl nor wget is installed" && exit 1
}

# get downloads a file of the version in the background, because signals interrupt only wait.
get() {
	download "$base/$version/$1" "$temp/$1" >"$temp/said" 2>&1 &
	child=$! got=yes
	wait "$child" || got=''
	child=''
	[ -n "$got" ]
}

# verify_signature goes on without openssl: whoever attacks the server cannot remove it from here.
verify_signature() {
	has openssl || { say "openssl is not installed, so only the checksum is verified and not the signature." && return; }
	get SHA256SUMS.sig || fail "cannot download the signature $base/$version/SHA256SUMS.sig: $(reason)"
	say "$key" >"$temp/key"
	openssl dgst -sha256 -verify "$temp/key" -signature "$temp/SHA256SUMS.sig" "$temp/SHA256SUMS" >/dev/null 2>&1 ||
		fail "the signature of $base/$version/SHA256SUMS is wrong: somebody else made these files."
}

# fetch downloads a file of the version into the temporary folder and verifies it.
fetch() {
	get SHA256SUMS || {
		! grep -q ' 404' "$temp/said" || fail "there is no $version at $base ($base/$version/SHA256SUMS is missing)."
		fail "cannot download $base/$version/SHA256SUMS: $(reason)"
	}
	[ -z "$key" ] || verify_signature
	want=$(while read -r sum name; do [ "$name" != "$1" ] || say "$sum"; done <"$temp/SHA256SUMS")
	[ -n "$want" ] || fail "$version has no $1. Its files are listed in $base/$version/SHA256SUMS."
	say "Downloading $base/$version/$1"
	get "$1" || fail "cannot download $base/$version/$1: $(reason)"
	sum=$({ has sha256sum && sha256sum; } <"$temp/$1" || { has shasum && shasum -a 256; } <"$temp/$1" ||
		openssl dgst -sha256 -r <"$temp/$1") || fail "sha256sum, shasum or openssl is needed."
	[ "${sum%% *}" = "$want" ] || fail "$base/$version/$1 has a wrong checksum: it was changed or cut off on its way."
}

# expect_version runs a program, which must be the version.
expect_version() {
	answer=$("$1" version 2>&1 </dev/null) || :
	case $answer in "nanobot $version "*) ;; *) fail "$2 is not $version, or does not run here: $answer" ;; esac
}

install_program() {
	mkdir -p "$bin" 2>/dev/null || fail "cannot make the folder $bin: is your home read-only, full or not yours?"
	make_temp "$bin" # on the filesystem of the program, so that mv replaces it in one step
	name=nanobot-${version#v}-$platform
	fetch "$name.tar.gz"
	tar -xzf "$temp/$name.tar.gz" -C "$temp" "$name/bin/nanobot" >"$temp/said" 2>&1 ||
		fail "cannot unpack $name.tar.gz: $(reason)"
	expect_version "$temp/$name/bin/nanobot" "$name.tar.gz"
	mv -f "$temp/$name/bin/nanobot" "$program" || fail "cannot replace $program."
	# The same folder may have two names, as when the home is a symbolic link.
	found=$(command -v nanobot) || found='' hint="$bin is not in your PATH. To add it: export PATH=\"$bin:\$PATH\""
	[ -z "$found" ] || [ "$(cd "${found%/*}/" && pwd -P)" != "$(cd "$bin" && pwd -P)" ] || found=$program
	next='nanobot demo'
	[ "$found" = "$program" ] || next="$program demo"
	[ "${found:-$program}" = "$program" ] || hint="Your PATH leads to another nanobot: $found"
}

install_package() {
	make_temp "${TMPDIR:-/tmp}"
	name=nanobot-${version#v}-$platform.$format
	fetch "$name"
	manager=${install%% *} outcome="See above what ${install%% *} says."
	[ "$manager" != dnf ] || ! is_older "$version" "$old" || install='dnf downgrade -y'
	case $manager in apt-get | apk) outcome="$outcome If it does not find ca-certificates: ${sudo:+sudo }$manager update" ;; esac
	# shellcheck disable=SC2086 # several words
	$sudo $install "$temp/$name" </dev/null || fail "$manager did not install $name."
	expect_version "$program" "$program"
	next="${sudo:+sudo }nanobot bots create mybot --template python --telegram-token-file -"
}

uninstall() {
	[ -n "$old" ] || { say "There is no $program, so nothing is removed." && return; }
	if [ -n "$system" ]; then
		outcome="See above what ${remove%% *} says."
		# shellcheck disable=SC2086 # several words
		$sudo $remove nanobot </dev/null || fail "${remove%% *} did not remove nanobot."
		[ ! -e "$program" ] || fail "$program is still there, because no package owns it. To remove it: ${sudo:+sudo }rm $program"
		say "Removed nanobot $old. These stay: /etc/nanobot with configs and tokens, /var/lib/nanobot with states."
	else
		rm -f "$program" || fail "cannot remove $program."
		say "Removed $program, which was $old. The folders of your bots stay, with configs and states (.nanobot)."
	fi
}

main() {
	system='' uninstall='' temp='' child='' hint='' status=1 outcome='Nothing was changed.'
	export LC_ALL=C
	while [ $# -gt 0 ]; do
		case "$1 ${2-}" in
		'--from ' | '--version ') fail "$1 needs a value." ;;
		'--from '*) base=$2 && shift ;;
		'--version '*) version=v${2#v} && shift ;;
		'--system '*) system=yes ;;
		'--uninstall '*) uninstall=yes ;;
		'--help '*) usage && exit ;;
		*) fail "there is no option $1; --help lists them." ;;
		esac
		shift
	done
	trap '[ -z "$temp" ] || rm -rf "$temp"' EXIT
	trap 'interrupt 130' INT
	trap 'interrupt 143' TERM HUP
	case $system${HOME-} in
	yes*) find_manager && program=/usr/bin/nanobot ;;
	/*) bin=${HOME%/}/.local/bin && program=$bin/nanobot ;;
	*) fail "HOME is not set. Set it, or use --system." ;;
	esac
	find_installed
	[ -z "$uninstall" ] || { uninstall && exit; }
	base=${base%/}
	[ -n "$base" ] || fail "this copy does not name the address of the releases: --from URL is needed."
	case $base in http://* | https://*) ;; *) fail "$base is not an address that begins with http:// or https://." ;; esac
	[ -n "$version" ] || fail "this copy does not name a version: --version vX is needed."
	find_platform
	[ "$old" != "$version" ] || { say "nanobot $version is already installed: $program" && exit; }
	[ -z "$old" ] || ! is_older "$version" "$old" ||
		say "$version is older than the installed $old: it may not open the states that $old has used."
	if [ -n "$system" ]; then install_package; else install_program; fi
	say "nanobot ${old:+$old -> }$version is installed: $program"
	[ -z "$old" ] || say "Bots that are running stay with $old until they are restarted."
	[ -z "$hint" ] || say "$hint"
	say "Next: $next"
}

# After sh -c "$(curl ...)", the first option is the name of the script.
case $0 in --*) set -- "$0" "$@" ;; esac
{ main "$@"; }
