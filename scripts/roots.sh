# shellcheck shell=bash
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Private Debian roots: what is in them, how they are made, how a command runs inside.
# A root is a folder that belongs to the caller; it is made and entered in namespaces of its own, so nothing is
# installed on the machine, no mount outlives a command, and root and ordinary users take the same path.

# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${XDG_CACHE_HOME:-~/.cache}/portops
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
PATH=$PATH:/usr/sbin:/sbin # chroot and mount, which an ordinary user's PATH may lack

check_root_name() {
  [[ $1 =~ ^(sid|experimental|lint)$ ]] || refuse "no root is named '$1': there are sid, experimental and lint"
}

root_packages() {
  # bible-kjv and its text are for scripts/demo, and so is dataset-fashion-mnist, which tests use too where it is.
  local build='bible-kjv bible-kjv-text ccache cmake g++ git libbenchmark-dev libcli11-dev libgmock-dev libgtest-dev
               libonnx-dev libopenblas-dev libpng-dev libprotobuf-dev ninja-build nlohmann-json3-dev python3 python3-yaml'
  case $1 in
    sid) echo "$build" dataset-fashion-mnist gfortran libkokkos-dev libopenmpi-dev nanobind-dev openmpi-bin pkgconf python3-dev \
      python3-nanobind python3-numpy python3-onnx python3-pil python3-pip python3-scikit-build-core ;;
    experimental) echo "$build" libmpich-dev libtrilinos-kokkos-dev libtrilinos-kokkos-kernels-dev mpich ;;
    # Large, and of no use to a newcomer; clang does not find the omp.h of g++. The Python packages are those of
    # scripts/sweep, and what the Python package that was built in sid is tested beside.
    lint) echo clang-format clang-tidy g++ git libkokkos-dev libomp-dev libonnx-dev libopenblas-dev libprotobuf-dev mypy nlohmann-json3-dev \
      python3 python3-dev python3-jinja2 python3-matplotlib python3-pandas python3-rich python3-torch python3-torchvision ruff shellcheck ;;
  esac
}

root_suites() { case $1 in experimental) echo sid experimental ;; *) echo sid ;; esac; }

# What the root takes, and what its packages take besides while it is made; rounded up, in MiB.
root_size() { case $1 in lint) echo 3900 ;; sid) echo 2500 ;; *) echo 2000 ;; esac; }

root_is_ready() { [[ -r $cache/$1/portops-stamp && $(<"$cache/$1/portops-stamp") == "$(root_key "$1")" ]]; }

# A root is made anew when its recipe has changed.
root_key() { { root_packages "$1"; root_suites "$1"; declare -f fill_root; } | sha256sum | cut -c 1-16; }

# --- namespaces ---------------------------------------------------------------------------------------------

# The caller is root inside, and so the owner of what is made there. When this script dies, of whatever, unshare
# is killed, and with it everything in the process namespace that it opened.
namespaces=(setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child)
((EUID == 0)) || namespaces+=(--user --map-root-user --map-auto)

check_rights() {
  local tool user reason instead='or name a Kokkos with --kokkos'
  for tool in unshare setpriv flock; do
    command -v "$tool" >/dev/null || refuse "$tool is missing: install util-linux, $instead"
  done
  if ((EUID != 0)); then
    user=$(id -un)
    command -v newuidmap >/dev/null || refuse "newuidmap is missing: install the package uidmap, $instead"
    for tool in /etc/subuid /etc/subgid; do
      grep -qsE "^($user|$EUID):" "$tool" ||
        refuse "$user has no range in $tool: as root, usermod --add-subuids 100000-165535" \
          "--add-subgids 100000-165535 $user; $instead"
    done
  fi
  reason=$("${namespaces[@]}" mount -t tmpfs none /mnt 2>&1) ||
    refuse "no right to make a private Debian root here (${reason%%$'\n'*}):" \
      "switch user namespaces and mounts on, $instead"
}

# in_root NAME COMMAND...: in the project's folder, at the path that it has outside. Replaces the shell: to be run
# as a job or in a subshell.
in_root() {
  local root=$cache/$1 name pass=()
  local passed='^(OMP|GOMP|OPENBLAS|KOKKOS|PORTOPS|CTEST|GTEST|BENCHMARK|[ATL]SAN|UBSAN)_|^(TERM|CI)$'
  shift
  mkdir -p "$cache/ccache"
  for name in $(compgen -e | grep -E "$passed"); do
    pass+=("$name=${!name}")
  done
  # shellcheck disable=SC2016
  exec "${namespaces[@]}" bash -euc '
    root=$1 project=$2 ccache=$3
    shift 3
    # A container may forbid a proc of our own.
    mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
    for dir in /dev /sys /tmp; do mount --rbind "$dir" "$root$dir"; done
    mkdir -p "$root$project" "$root/ccache"
    mount --rbind "$project" "$root$project"
    mount --rbind "$ccache" "$root/ccache"
    # Not exec: process 1 of a namespace does not die of its own abort(), and has to reap.
    status=0
    chroot "$root" "$@" || status=$?
    exit "$status"
  ' in_root "$root" "$project" "$cache/ccache" \
    env -i -C "$project" PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TMPDIR=/tmp \
    CCACHE_DIR=/ccache CCACHE_MAXSIZE=1G CCACHE_BASEDIR="$project" CCACHE_NOHASHDIR=1 \
    GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$project" \
    "${pass[@]}" "$@"
}

# --- making one ---------------------------------------------------------------------------------------------

ensure_root() {
  local name=$1
  ! root_is_ready "$name" || return 0
  check_rights
  # The job inherits the lock: a second set-up waits until nothing writes here any more.
  { mkdir -p "$cache" && : >>"$cache/$name.lock"; } 2>/dev/null || refuse "cannot write to $cache"
  exec {root_lock}>>"$cache/$name.lock"
  if ! flock -n "$root_lock"; then
    step "Waiting for another set-up of the $name root"
    flock "$root_lock"
  fi
  root_is_ready "$name" || make_root "$name"
  exec {root_lock}>&-
}

make_root() {
  local name=$1 dir=$cache/$1 log=$cache/$1.log start=$SECONDS mirror free need
  [[ ! -e $dir || -O $dir ]] || refuse "$dir belongs to another user: remove it"
  remove_tree "$dir.partial"
  remove_tree "$dir.old"
  need=$(root_size "$name")
  free=$(($(df -Pk "$cache" | awk 'NR == 2 { print $4 }') / 1024))
  ((free >= need)) || refuse "no space: $cache has $free MiB free, the $name root needs $need MiB"
  mirror=$(find_mirror "$name") || exit
  find_mmdebstrap

  step "Making a private Debian root ($name; once, about a minute; log: $log)"
  at_exit=(remove_tree "$dir.partial")
  run_logged "$log" fill_root "$name" "$dir.partial" "$mirror" || failed "$log" "the $name root could not be made"
  root_key "$name" >"$dir.partial/portops-stamp"
  [[ ! -e $dir ]] || mv "$dir" "$dir.old"
  mv "$dir.partial" "$dir"
  at_exit=(:)
  remove_tree "$dir.old"
  step "The $name root is ready ($((SECONDS - start)) s): $dir"
}

# Half-made roots hold files of mapped users, which only the namespace may remove.
remove_tree() { [[ ! -e $1 ]] || ("${namespaces[@]}" rm -rf --one-file-system "$1") || refuse "cannot remove $1"; }

# fill_root NAME DIR MIRROR: replaces the shell, to be run as a job.
fill_root() {
  local name=$1 dir=$2 mirror=$3 suite proxy sources=() options=()
  for suite in $(root_suites "$name"); do
    sources+=("deb [signed-by=$keyring] $mirror $suite main")
  done
  # shellcheck disable=SC2016
  if [[ $name == experimental ]]; then
    # Nothing is taken from experimental but Kokkos.
    options+=(--setup-hook='mkdir -p "$1/etc/apt/preferences.d"
      printf "Package: *trilinos*\nPin: release a=experimental\nPin-Priority: 990\n" \
        >"$1/etc/apt/preferences.d/portops"')
  else
    # libkokkos-dev 5.2.2-2 forgets two archives, empty ones, that its CMake config names.
    options+=(--customize-hook='for part in algorithms simd; do
        for core in "$1"/usr/lib/*/libkokkoscore.so; do
          archive=${core%core.so}$part.a
          [ -e "$archive" ] || chroot "$1" ar rcs "${archive#"$1"}"
        done
      done')
  fi
  # The machine's proxy serves here too; its other apt options are its own affair.
  proxy=$(apt-config dump | grep -iE '^Acquire::https?::proxy.* "[^"]' || true)
  [[ -z $proxy ]] || options+=(--aptopt="$proxy")
  # A mirror may carry a sid that is past its date. In the end all files go to the caller, who
  # can then remove the cache like any folder.
  # shellcheck disable=SC2016
  exec "${namespaces[@]}" bash -euc '
    dir=$1
    shift
    mount -t proc proc /proc 2>/dev/null || true
    "$@"
    find "$dir" -xdev \( ! -uid 0 -o ! -gid 0 \) -exec chown -h 0:0 {} +
  ' fill_root "$dir" "$mmdebstrap" --mode=root --format=directory --variant=apt \
    --include="$(root_packages "$name" | xargs | tr ' ' ,)" \
    --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    "${options[@]}" sid "$dir" "${sources[@]}"
}

# The first of the machine's own apt sources (apt itself reads them, whatever their format) that holds the suites.
find_mirror() {
  local name=$1 uri uris suite missing reason tried='' scratch
  local options=(-o APT::Sandbox::User=root -o Acquire::Retries=0)
  options+=(-o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15)
  [[ -x /usr/lib/apt/apt-helper ]] || refuse "no apt to make a private Debian root with: name a Kokkos with --kokkos"
  [[ -e $keyring ]] || refuse "$keyring is missing: install the package debian-archive-keyring"
  scratch=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$scratch'" EXIT
  uris=$(apt-get update --print-uris | sed -nE "s|^'(.*)/dists/.*/InRelease' .*|\1|p" | awk '!seen[$0]++')
  for uri in ${PORTOPS_DEBIAN_MIRROR:-$uris}; do
    missing=
    for suite in $(root_suites "$name"); do
      reason=$(/usr/lib/apt/apt-helper "${options[@]}" download-file \
        "$uri/dists/$suite/InRelease" "$scratch/$suite" 2>&1) || missing=$suite
      [[ -z $missing ]] || break
    done
    [[ -n $missing ]] || { printf '%s' "$uri" && return; }
    tried+="; $uri: $(sed -nE 's/^E: (Failed to fetch [^ ]+ +)?//p' <<<"$reason" | head -n 1)"
  done
  refuse "no network, or no Debian mirror with ${missing:-sid} in apt's sources (PORTOPS_DEBIAN_MIRROR=URI names" \
    "one)$tried"
}

# mmdebstrap is a Perl script: where it is not installed, the package is unpacked into the cache.
find_mmdebstrap() {
  local unpacked=$cache/mmdebstrap scratch
  mmdebstrap=$(command -v mmdebstrap || echo "$unpacked/usr/bin/mmdebstrap")
  if [[ ! -e $mmdebstrap ]]; then
    step "Downloading mmdebstrap"
    scratch=$(mktemp -d "$cache/fetch.XXXXXX")
    (
      cd "$scratch"
      mkdir -p lists/partial archives/partial tree
      options=(-q -o Dir::State::lists="$scratch/lists" -o Dir::Cache="$scratch" -o APT::Sandbox::User=root)
      apt-get "${options[@]}" update && apt-get "${options[@]}" download mmdebstrap && dpkg-deb -x mmdebstrap_*.deb tree
    ) >"$cache/mmdebstrap.log" 2>&1 || true
    [[ ! -e $scratch/tree/usr/bin ]] || mv -T "$scratch/tree" "$unpacked"
    rm -rf "$scratch"
  fi
  PATH=$PATH:${mmdebstrap%/*} # it calls mmtarfilter by its name
  "$mmdebstrap" --version >/dev/null 2>&1 || refuse "mmdebstrap is missing, and cannot be unpacked: install the package"
}
