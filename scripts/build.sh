# shellcheck shell=bash
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Which Kokkos to build with, and how: on the machine itself, or in a private root.

# shellcheck source=scripts/roots.sh
source "$(dirname "${BASH_SOURCE[0]}")/roots.sh"

log_dir=$project/build/log

# --- the choice ---------------------------------------------------------------------------------------------

root=      # the private root to build in; empty: the machine itself
preset=    # the CMake preset
prefix=    # --kokkos
kokkos=    # the folder of the machine's KokkosConfig.cmake
output=    # the build folder
jobs=$(nproc)

# Takes an option that demo and test share: common_option "$@".
common_option() {
  case $1 in
    --root | --kokkos | --preset | --jobs) need_value "$@" ;;
    *) refuse "unknown option '$1' (see --help)" ;;
  esac
  case $1 in
    --root) root=$2 ;;
    --kokkos) prefix=$2 ;;
    --preset) preset=$2 ;;
    --jobs) jobs=$2 ;;
  esac
}

check_options() {
  case $root in '' | sid | experimental) ;; *) refuse "--root is sid or experimental, not '$root'" ;; esac
  case $preset in
    '' | serial | openmp | cuda | small | asan | tsan) ;;
    *) refuse "--preset is serial, openmp, cuda, small, asan or tsan, not '$preset'" ;;
  esac
  [[ $jobs =~ ^[1-9][0-9]*$ ]] || refuse "--jobs is a number, not '$jobs'"
  [[ -z $root || -z $prefix ]] || refuse "--root and --kokkos exclude each other"
}

# Kokkos as CMake finds it on the machine.
devices= # of Kokkos: SERIAL;OPENMP;CUDA
kernels= # whether there is a Kokkos Kernels too
probe_machine() {
  local scratch
  command -v cmake >/dev/null || return 0
  scratch=$(mktemp -d)
  cat >"$scratch/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.22)
project(probe LANGUAGES CXX)
find_package(Kokkos QUIET CONFIG)
if(Kokkos_FOUND AND Kokkos_VERSION VERSION_GREATER_EQUAL 4.6)
  file(WRITE "${CMAKE_BINARY_DIR}/kokkos" "${Kokkos_DIR}\n${Kokkos_DEVICES}\n")
  find_package(KokkosKernels QUIET CONFIG)
  file(WRITE "${CMAKE_BINARY_DIR}/kernels" "${KokkosKernels_FOUND}\n")
endif()
EOF
  cmake -S "$scratch" -B "$scratch/build" "$@" >/dev/null 2>&1 || true
  if [[ -e $scratch/build/kokkos ]]; then
    { read -r kokkos && read -r devices; } <"$scratch/build/kokkos"
    [[ ! -e $scratch/build/kernels ]] || read -r kernels <"$scratch/build/kernels"
  fi
  rm -rf "$scratch"
}

choose() {
  if [[ -n $prefix ]]; then
    [[ -d $prefix ]] || refuse "--kokkos: there is no folder '$prefix'"
    command -v cmake >/dev/null || refuse "--kokkos needs cmake, ninja and a C++ compiler on this machine"
    prefix=$(cd "$prefix" && pwd -P)
    export CMAKE_PREFIX_PATH=$prefix${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
    probe_machine -D Kokkos_ROOT="$prefix"
    [[ $kokkos == "$prefix"/* ]] || refuse "--kokkos: CMake finds no Kokkos 4.6 or later in '$prefix'"
  elif [[ -z $root ]]; then
    probe_machine
    if [[ $devices == *CUDA* ]] && ! nvidia-smi -L >/dev/null 2>&1; then
      step "Passing over the Kokkos in ${kokkos%/lib*}: it wants a GPU, and there is none here"
      kokkos=
    fi
    [[ -n $kokkos ]] || root=sid
  fi
  case ${root:-$devices} in
    sid) : "${preset:=openmp}" ;;
    experimental) : "${preset:=serial}" ;;
    *CUDA*) : "${preset:=cuda}" ;;
    *OPENMP*) : "${preset:=openmp}" ;;
    *) : "${preset:=serial}" ;;
  esac
  output=build/${root:-machine}-$preset
}

# --- the build ----------------------------------------------------------------------------------------------

# To be run as a job, since it replaces the shell.
in_place() { if [[ -n $root ]]; then in_root "$root" "$@"; else exec "$@"; fi; }

# build TARGET...: sets up what is missing, configures and compiles.
build() {
  local options=() place=$kokkos kernels_wanted=ON log=$log_dir/${output#build/} cmake_cache=$output/CMakeCache.txt
  cd "$project" || exit
  if [[ -n $root ]]; then
    ensure_root "$root"
    place="the $root root"
    options=(-D CMAKE_CXX_COMPILER_LAUNCHER=ccache)
    # There is no Kokkos Kernels for the Kokkos of Debian's sid. The library is shared there, and static in experimental: the
    # tests in both roots are those of both kinds. The Python package is built there too, where all operators are.
    if [[ $root == sid ]]; then
      kernels_wanted=OFF
      options+=(-D BUILD_SHARED_LIBS=ON)
      [[ $preset == small ]] || options+=(-D PORTOPS_ENABLE_PYTHON=ON)
    fi
    # What CMake remembers of an older root, or of another Kokkos, would be wrong.
    [[ ! -e $cmake_cache || $cache/$root/portops-stamp -ot $cmake_cache ]] || options+=(--fresh)
  else
    options=(-D Kokkos_DIR="$kokkos")
    [[ $devices == *CUDA* || $kernels == 1 ]] || kernels_wanted=OFF
    [[ ! -e $cmake_cache || $(sed -n 's/^Kokkos_DIR:[A-Z]*=//p' "$cmake_cache") == "$kokkos" ]] || options+=(--fresh)
  fi
  options+=(-D PORTOPS_ENABLE_KOKKOS_KERNELS="$kernels_wanted" -D CMAKE_EXPORT_COMPILE_COMMANDS=ON)
  step "Configuring $output: preset $preset, Kokkos of $place"
  run_logged "$log-configure.log" in_place cmake --preset "$preset" -B "$output" "${options[@]}" ||
    failed "$log-configure.log" "CMake could not configure $output"
  step "Compiling (log: $log-build.log)"
  run_logged "$log-build.log" in_place cmake --build "$output" --parallel "$jobs" --target "$@" ||
    failed "$log-build.log" "the build in $output failed"
}
