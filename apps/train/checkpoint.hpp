// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "images.hpp"
#include "trainer.hpp"

#include <portops/comm/communicator.hpp>
#include <portops/core/context.hpp>
#include <portops/nn/safetensors.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace portops::apps {

/// What training depends on, beside what a checkpoint has in tensors: it is taken up with the same, or not at all.
/// `checksum` is that of the images to learn from.
nn::Metadata settings_of(const Context& ctx, const TrainOptions& options, const StoredImages& train,
                         std::uint32_t checksum);

/// The checksum of the images to learn from, for which each process reads its share of them. Waits.
std::uint32_t checksum_of(const Context& ctx, const comm::Communicator& processes, const StoredImages& train);

/// Throws Error, on every process, where one has other texts than process 0: settings, or the step that it begins at.
void check_agreement(const Context& ctx, const comm::Communicator& processes, const std::vector<std::string>& texts);
/// Those of settings, as options.
std::vector<std::string> texts_of(const nn::Metadata& settings);

/// Writes a checkpoint. Throws Error, which names the file; the one that was there then stays.
void save_checkpoint(const Context& ctx, const std::string& name, Trainer& trainer, const nn::Metadata& settings);

/// How many micro-batches the steps of a checkpoint have; 0 where it does not say so, or whole batches are normalised.
/// Throws Error, which names the file, where it cannot be read.
std::int64_t micro_batches_of(const Context& ctx, const std::string& name);

/// Takes training up where a checkpoint was written. Throws Error, which names the file, where it cannot be read, is of
/// another network, has other settings, or was not written at the end of an epoch.
void load_checkpoint(const Context& ctx, const std::string& name, Trainer& trainer, const nn::Metadata& settings);

}  // namespace portops::apps
