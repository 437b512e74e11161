// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/rendezvous.hpp"

#include "core/types/fail.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>

namespace portops::impl {
namespace {

constexpr const char* name = "portops::comm: the rendezvous file ";
constexpr std::string_view mark = "portops rendezvous 1, job ";

/// What a file of this job step begins with. A job that is killed leaves its file, and Slurm may start it again under
/// the same number, and so with the same name of the file.
std::string head_of_job() {
  std::string head(mark);
  for (const char* variable : {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}) {
    const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): once, at the start
    head.append(text != nullptr ? text : "").append(".");
  }
  return head.append("\n");
}

/// An open file.
class File {
 public:
  File(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return number_ >= 0; }
  /// Whether all bytes were written, and lie where other machines find them.
  bool write(std::string_view bytes) const {
    return ::write(number_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) && ::fsync(number_) == 0;
  }
  /// What it has, but no more than so many bytes.
  std::string read(std::size_t most) const {
    std::string bytes(most, ' ');
    std::size_t count = 0;
    for (ssize_t got = 1; got > 0 && count < most; count += static_cast<std::size_t>(got > 0 ? got : 0)) {
      got = ::read(number_, bytes.data() + count, most - count);
    }
    bytes.resize(count);
    return bytes;
  }

 private:
  int number_;
};

void write_file(const std::string& path, std::span<const char> bytes) {
  const std::string own = path + "." + std::to_string(::getpid());
  const auto give_up = [&](const char* what) {
    const int reason = errno;
    ::unlink(own.c_str());
    fail(name, path, " cannot be ", what, ": ", std::generic_category().message(reason));
  };
  {
    const File file(own, O_WRONLY | O_CREAT | O_EXCL);
    if (!file.is_open() || !file.write(head_of_job() + std::string(bytes.begin(), bytes.end()))) give_up("written");
  }
  // Unlike a new name, a link does not take the place of a file.
  if (::link(own.c_str(), path.c_str()) != 0) {
    if (errno == EEXIST) {
      ::unlink(own.c_str());
      fail(name, path, " is there already: another job uses it, or has left it; remove it, or choose another name");
    }
    give_up("made");
  }
  ::unlink(own.c_str());
}

void read_file(const std::string& path, double timeout, std::span<char> bytes) {
  const std::string head = head_of_job();
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    std::string problem;
    if (const File file(path, O_RDONLY); file.is_open()) {
      const std::string text = file.read(head.size() + bytes.size() + 1);
      const bool is_ours = text.starts_with(head);
      if (is_ours && text.size() == head.size() + bytes.size()) {
        std::memcpy(bytes.data(), text.data() + head.size(), bytes.size());
        return;
      }
      if (is_ours || !text.starts_with(mark)) fail(name, path, " is none of ours, or of another version");
      problem = "there is one that another job has left";
    } else {
      problem = std::generic_category().message(errno);
    }
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    if (waited.count() >= timeout) {
      fail(name, path, " has not come in ", timeout, " seconds (", problem, "): process 0 writes it");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

void share_by_file(const std::string& path, int rank, double timeout, std::span<char> bytes) {
  if (rank == 0) return write_file(path, bytes);
  read_file(path, timeout, bytes);
}

void end_rendezvous(const std::string& path, int rank) {
  if (rank == 0) ::unlink(path.c_str());
}

}  // namespace portops::impl
