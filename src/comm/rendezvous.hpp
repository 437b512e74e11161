// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>

namespace portops::impl {

/// Gives the bytes of process 0 to all processes by a file, which only process 0 writes: it is whole as soon as it has
/// its name, and says which job step of Slurm it is of. Process 0 throws Error where there is a file of that name, left
/// by another job; the others where none of this job has come after so many seconds, or one of another kind or length.
void share_by_file(const std::string& path, int rank, double timeout, std::span<char> bytes);
/// After all processes have read it: process 0 removes it.
void end_rendezvous(const std::string& path, int rank);

}  // namespace portops::impl
