// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/error.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/module.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

// Files of parameters in the format safetensors (https://huggingface.co/docs/safetensors): the length of a header, the
// header, a JSON object that names each tensor's type, extents and place, and the elements, contiguous, without gaps
// between tensors. In builds with nlohmann's JSON library (PORTOPS_HAS_JSON).

namespace portops::nn {

/// Texts that a file has beside its tensors.
using Metadata = std::map<std::string, std::string>;

/// Writes a file, which other programs read by the names. It is written beside the target, brought onto the disk, and
/// then renamed to the target: where that fails, whatever the reason, or the process ends before, the file that was
/// there is untouched. What is left behind by a process that ended, the target with `.partial` behind it, may be
/// removed. Where `path` is a symbolic link it stays, and what it names is the target; a file that was there keeps its
/// mode. Waits.
///
/// Throws Error, which names the file, where the system refuses something (a full disk), what is there is no regular
/// file, a tensor is empty, not contiguous or has the name of another, or a text is no UTF-8.
PORTOPS_EXPORT void save(const Context& ctx, const std::filesystem::path& path, const State& state,
                         const Metadata& metadata = {});

struct LoadParams {
  /// Only tensors whose names begin so are looked at, without it: "model.".
  std::string prefix = {};
  /// Names that the file may have beside those of the state: network.unused().
  std::vector<std::string> unused = {};
};

/// Reads the elements of all tensors of a state from a file, and returns the file's texts. Waits.
///
/// Files may come from anywhere: all that they say is checked before anything is changed, in memory of the order of the
/// header, of 100 MB at most, and the largest tensor of the state. Throws Error, which names the file, and the tensor
/// where it is about one, where
/// - the file is cut off, is no safetensors, or has two tensors of a name, or tensors of unknown types or that overlap,
///   leave gaps or reach beyond its end;
/// - it is of another network: it lacks tensors or has others, as the message lists, or has other types or extents;
/// - a tensor of the state is empty or not contiguous, or the system refuses something. Only where reading itself fails
///   may some tensors have been read.
PORTOPS_EXPORT Metadata load(const Context& ctx, const std::filesystem::path& path, const State& state,
                             const LoadParams& params = {});

}  // namespace portops::nn
