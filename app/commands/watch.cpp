#include "app/commands/walk.hpp"

#include <algorithm>
#include <filesystem>

#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/terminal/watched_files.hpp"
#include "attn/io/read_tensor.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

/// Whether a walk would write this file, or into this folder.
bool is_written(const Arguments& arguments, const std::filesystem::path& read) {
    return std::ranges::any_of(arguments.said(), [&](const Arguments::Said& said) {
        if (!said.flag->writes) return false;
        const std::filesystem::path written = real_path(said.text);
        return read == written || read.parent_path() == written;
    });
}

/// The files and folders that the flags read.
void add_files(const Arguments& arguments, WatchedFiles& files) {
    for (const auto& [flag, text, implied] : arguments.said()) {
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
