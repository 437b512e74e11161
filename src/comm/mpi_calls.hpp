// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/fail.hpp"

#include <mpi.h>

#include <string>

namespace portops::impl {

/// Throws Error where a call of MPI failed: "portops::comm: CALL failed: …", with MPI's own words.
inline void check_mpi(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, ' ');
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  fail("portops::comm: ", call, " failed: ", text);
}

/// An MPI datatype of `count` neighbours of another.
class MpiType {
 public:
  MpiType(std::int64_t count, MPI_Datatype of) {
    check_mpi(MPI_Type_contiguous(static_cast<int>(count), of, &type_), "MPI_Type_contiguous");
    check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
  }
  ~MpiType() { MPI_Type_free(&type_); }
  MpiType(const MpiType&) = delete;
  MpiType& operator=(const MpiType&) = delete;

  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace portops::impl
