#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "app/commands/walk.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/files/io/read_tensor.hpp"

namespace app {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw attn::InputError("--watch cannot watch " + what + ": " + std::strerror(errno));
}

bool comes_within(int queue, int milliseconds) {
    pollfd wanted{queue, POLLIN, 0};
    return poll(&wanted, 1, milliseconds) > 0;
}

/// Files to wait for. A change counts when the writer has closed the file or replaced it, never in
/// between.
class WatchedFiles {
public:
    /// Errors  InputError if the system watches no more files.
    WatchedFiles() : queue_(inotify_init1(IN_CLOEXEC)) {
        if (queue_ < 0) fail("files");
    }
    ~WatchedFiles() { close(queue_); }
    WatchedFiles(const WatchedFiles&) = delete;
    WatchedFiles& operator=(const WatchedFiles&) = delete;

    bool empty() const { return names_.empty(); }

    /// Watches this file, or all files in this folder, from now on.
    void add(const std::string& path) {
        namespace fs = std::filesystem;
        std::error_code ignored;
        if (fs::is_directory(path, ignored)) return watch_folder(path, "");
        // Watch both a link and its target.
        for (const fs::path& place : {fs::path(path), fs::canonical(path, ignored)}) {
            if (place.empty()) continue;
            const fs::path folder = place.parent_path();
            watch_folder(folder.empty() ? "." : folder.string(), place.filename().string());
        }
    }

    /// Waits for a change, and briefly for others that come with it.
    void wait() {
        while (!read_events()) {
        }
        constexpr int moment = 20;  // milliseconds
        while (comes_within(queue_, moment) && read_events()) {
        }
    }

private:
    void watch_folder(const std::string& folder, const std::string& name) {
        // Watch the folder: a file that replaces another is not the file that was watched.
        const int watch = inotify_add_watch(queue_, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
        if (watch < 0) fail(folder);
        names_[watch].insert(name);
    }

    bool read_events() {
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

    int queue_;
    std::map<int, std::set<std::string>> names_;  ///< per folder; an empty name means any file
};

/// True if a walk would write this file, or into this folder.
bool is_written(const Arguments& arguments, const std::filesystem::path& read) {
    return std::ranges::any_of(arguments.specified(),
                               [&](const Arguments::SpecifiedFlag& specified) {
                                   if (!specified.flag->writes) return false;
                                   const std::filesystem::path written = real_path(specified.text);
                                   return read == written || read.parent_path() == written;
                               });
}

/// Adds the files and folders that the flags read.
void add_files(const Arguments& arguments, WatchedFiles& files) {
    for (const auto& [flag, text, implied] : arguments.specified()) {
        if (flag->writes || !flag->may_name_file() || text.starts_with("-")) continue;
        const std::string path = attn::file_of(text);
        if (is_written(arguments, real_path(path))) {
            throw attn::ConfigError("--watch: each walk would write " + path + ", which " +
                                    flag->name + " reads, and so walk again: write elsewhere");
        }
        if (std::filesystem::exists(path)) files.add(path);
    }
}

}  // namespace

void watch(const Arguments& arguments, const WalkOnce& walk_once) {
    Pager::forbid();
    WatchedFiles files;
    add_files(arguments, files);
    if (files.empty()) {
        throw attn::ConfigError(
            "--watch waits for files to change: name one, as with --x, --weights or --config");
    }
    std::shared_ptr<const attn::Document> before = walk_once(arguments, nullptr);
    release_notes();
    while (true) {
        files.wait();
        try {
            // Read the file of --config again too: it may name other files.
            const Arguments now = with_config(arguments);
            add_files(now, files);
            before = walk_once(now, before);
            release_notes();
        } catch (const attn::Error& error) {
            report_error(error.what());
        }
    }
}

}  // namespace app
