// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output_file.hpp"

#include <portops/core/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace portops::apps {

namespace fs = std::filesystem;

namespace {

// The temporary files that a signal handler must remove. A handler may only touch lock-free atomics and make system
// calls, hence the fixed array of plain pointers.
std::array<std::atomic<const char*>, 64> files_to_remove;
static_assert(std::atomic<const char*>::is_always_lock_free);

extern "C" void remove_files_and_die(int signal) {
  for (const auto& path : files_to_remove) {
    if (const char* name = path.load()) unlink(name);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void install_handlers() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction action{};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_DFL) continue;  // ignored, as by nohup, or somebody else's
    action.sa_handler = remove_files_and_die;
    sigaction(signal, &action, nullptr);
  }
}

int remember(const char* path) {
  static const bool installed = (install_handlers(), true);
  static_cast<void>(installed);
  for (std::size_t slot = 0; slot < files_to_remove.size(); ++slot) {
    const char* none = nullptr;
    if (files_to_remove[slot].compare_exchange_strong(none, path)) return static_cast<int>(slot);
  }
  return -1;  // more files than anybody writes at once: the destructor still removes it
}

void forget(int slot) {
  if (slot >= 0) files_to_remove[static_cast<std::size_t>(slot)] = nullptr;
}

[[noreturn]] void fail(const std::string& name, int error) {
  throw Error(name + ": cannot be written: " + std::strerror(error));
}

}  // namespace

OutputFile::OutputFile(const std::string& name) : name_(name), destination_(name) {
  struct stat status{};
  existed_ = stat(name.c_str(), &status) == 0;
  if (!existed_ && errno != ENOENT) fail(name, errno);
  if (existed_ && S_ISDIR(status.st_mode)) throw Error(name + ": is a folder, expected the name of a file to write");

  int descriptor = -1;
  if (existed_ && !S_ISREG(status.st_mode)) {
    descriptor = open(name.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) fail(name, errno);
  } else {
    // Renaming would replace a write-protected file and a symbolic link without a word: neither is what was asked for.
    if (existed_ && access(name.c_str(), W_OK) != 0) fail(name, errno);
    if (existed_) destination_ = fs::canonical(destination_);
    if (!destination_.has_filename()) throw Error("'" + name + "': is not the name of a file to write");
    for (int attempt = 0; descriptor < 0; ++attempt) {
      const std::string unique = std::to_string(getpid()) + "-" + std::to_string(attempt);
      temporary_ = destination_.parent_path() / (".portops-" + unique + ".part");
      descriptor = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor < 0 && errno != EEXIST) fail(name, errno);
    }
    cleanup_slot_ = remember(temporary_.c_str());
    if (existed_) static_cast<void>(fchmod(descriptor, status.st_mode & 07777));
  }
  stream_ = fdopen(descriptor, "wb");
  if (stream_ == nullptr) {  // out of memory; the destructor does not run
    ::close(descriptor);
    if (!temporary_.empty()) unlink(temporary_.c_str());
    forget(cleanup_slot_);
    fail(name, ENOMEM);
  }
}

OutputFile::~OutputFile() {
  if (stream_ != nullptr) std::fclose(stream_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
  forget(cleanup_slot_);
}

void OutputFile::write(const void* data, std::size_t bytes) {
  if (bytes != 0 && std::fwrite(data, 1, bytes, stream_) != bytes) fail(name_, errno);
}

void OutputFile::close() {
  // A full disk may show at any of these steps, and only there.
  if (std::fflush(stream_) != 0) fail(name_, errno);
  if (!temporary_.empty() && fsync(fileno(stream_)) != 0) fail(name_, errno);
  if (std::fclose(std::exchange(stream_, nullptr)) != 0) fail(name_, errno);
}

void OutputFile::rename() {
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), destination_.c_str()) != 0) fail(name_, errno);
  forget(std::exchange(cleanup_slot_, -1));
  temporary_.clear();
}

void OutputFile::commit(std::deque<OutputFile>& files) {
  for (OutputFile& file : files) file.close();
  for (auto file = files.begin(); file != files.end(); ++file) {
    try {
      file->rename();
    } catch (const Error&) {
      // Half of the results is no result. A file that was replaced cannot be brought back, so it stays, complete.
      for (auto placed = files.begin(); placed != file; ++placed) {
        if (!placed->existed_) unlink(placed->destination_.c_str());
      }
      throw;
    }
  }
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error) && !error) return true;
  // What is not there yet is compared by name, in a folder that may have several.
  const auto location = [&error](const std::string& name) {
    const fs::path absolute = error ? fs::path() : fs::absolute(name, error);
    return error ? fs::path() : fs::weakly_canonical(absolute, error);
  };
  error.clear();
  const fs::path first = location(a);
  const fs::path second = location(b);
  return !error && first == second;
}

}  // namespace portops::apps
