#include "app/terminal/watched_files.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "attn/tensor/error.hpp"

namespace app {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw attn::InputError("--watch cannot watch " + what + ": " + std::strerror(errno));
}

bool comes_within(int queue, int milliseconds) {
    pollfd wanted{queue, POLLIN, 0};
    return poll(&wanted, 1, milliseconds) > 0;
}

}  // namespace

WatchedFiles::WatchedFiles() : queue_(inotify_init1(IN_CLOEXEC)) {
    if (queue_ < 0) fail("files");
}

WatchedFiles::~WatchedFiles() { close(queue_); }

void WatchedFiles::add(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return watch_folder(path, "");
    // A link is watched where it stands and where it leads.
    for (const fs::path& place : {fs::path(path), fs::canonical(path, ignored)}) {
        if (place.empty()) continue;
        const fs::path folder = place.parent_path();
        watch_folder(folder.empty() ? "." : folder.string(), place.filename().string());
    }
}

void WatchedFiles::watch_folder(const std::string& folder, const std::string& name) {
    // The folder: a file that takes the place of another is not the file that was watched.
    const int watch = inotify_add_watch(queue_, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
    if (watch < 0) fail(folder);
    names_[watch].insert(name);
}

bool WatchedFiles::read_events() {
    alignas(inotify_event) std::array<char, 4096> bytes{};
    const ssize_t count = read(queue_, bytes.data(), bytes.size());
    bool is_ours = false;
    for (ssize_t at = 0; at < count;) {
        const auto* event = reinterpret_cast<const inotify_event*>(bytes.data() + at);
        const auto& names = names_[event->wd];
        const std::string name = event->len > 0 ? event->name : "";
        is_ours = is_ours || names.contains(name) || names.contains("");
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
    return is_ours;
}

void WatchedFiles::wait() {
    while (!read_events()) {
    }
    constexpr int moment = 20;  // milliseconds
    while (comes_within(queue_, moment) && read_events()) {
    }
}

}  // namespace app
