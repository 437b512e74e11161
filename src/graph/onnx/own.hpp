// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/levels.hpp"

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <string_view>

// What files say in portops' own words: nodes of its domain, and texts of the model.
//
// A node of the domain has the inputs and outputs of the schema, in its order: an empty name stands for one that is not
// given or not computed, and a list takes as many as the attribute NAME.count says. The schema's attributes are of the
// types INT (booleans too), INTS and STRING; a number is a TENSOR of one double, because a FLOAT would lose digits. The
// same stands for an input that is a number, under the input's name. Levels given alone are a STRING of the name
// NAME.levels.
//
// Texts of the model (metadata_props): of an input its levels, as their offsets, "0,2,5;0,3,3,4,7,9"; of an
// output the input in whose memory it is left, and its name where that is an input's too.

namespace portops::impl {

inline constexpr std::string_view own_domain = "portops";

inline constexpr std::string_view text_of_levels = "portops.levels.";
inline constexpr std::string_view text_of_over = "portops.over.";
inline constexpr std::string_view text_of_name = "portops.name.";

using ModelTexts = std::map<std::string, std::string>;

/// The texts of a model; of two with one key the first.
ModelTexts texts_of(const onnx::ModelProto& model);
/// That of a kind, for the name; or "".
std::string find_text(const ModelTexts& texts, std::string_view kind, const std::string& name);
void add_text(onnx::ModelProto& model, std::string_view kind, const std::string& name, const std::string& text);

/// "0,2,5;0,3,3,4,7,9"
std::string text_of(const Levels& levels);
/// Throws Error where the text is none of levels.
Levels parse_levels(std::string_view text);

}  // namespace portops::impl
