// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/program_call.hpp"

namespace portops::impl {
namespace {

thread_local const ProgramCall* current_call = nullptr;

}  // namespace

ProgramCallScope::ProgramCallScope(const ProgramCall& call) { current_call = &call; }
ProgramCallScope::~ProgramCallScope() { current_call = nullptr; }
const ProgramCall* ProgramCallScope::current() { return current_call; }

}  // namespace portops::impl
