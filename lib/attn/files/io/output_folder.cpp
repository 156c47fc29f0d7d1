#include "attn/files/io/output_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>

#include "attn/files/io/input_file.hpp"
#include "attn/files/io/json.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

std::string reason_text(int reason) { return std::generic_category().message(reason); }

/// Returns `query` for `03_query.npy`; empty for other names.
std::string step_of(const std::string& file) {
    constexpr std::string_view ending{".npy"};
    const std::size_t digits = std::min(file.find_first_not_of("0123456789"), file.size());
    if (digits < 2 || !file.ends_with(ending) || file[digits] != '_') return "";
    return file.substr(digits + 1, file.size() - ending.size() - digits - 1);
}

}  // namespace

OutputFolder::OutputFolder(const std::string& path) : path_(path) {
    std::error_code error;
    fs::path target = fs::weakly_canonical(path, error);
    if (error) fail(error.message(), "name another folder");
    if (path.empty()) fail("it is not a usable name", "name another folder");
    if (!target.has_filename()) target = target.parent_path();
    target_ = fs::absolute(target).string();
    if (fs::exists(target_, error)) {
        if (!fs::is_directory(target_)) fail("it is a file", "name a folder");
        if (fs::equivalent(target_, fs::current_path(error), error)) {
            fail("it is the folder you are in", "name another one");
        }
        if (::access(target_.c_str(), W_OK) != 0) fail(reason_text(errno), "choose another place");
        check_replaced();
        replaces_ = true;
    }
    temporary_.emplace(target_);
    if (const int reason = temporary_->reason()) {
        fail("cannot create a temporary folder beside it: " + reason_text(reason),
             reason == ENOENT ? "create its folder first" : "choose another place");
    }
    if (struct stat status{}; replaces_ && ::stat(target_.c_str(), &status) == 0) {
        ::chmod(temporary_->path().c_str(), status.st_mode & 07777);
    }
}

void OutputFolder::check_replaced() {
    const char* const advice = "name a new or an empty folder";
    std::error_code error;
    std::set<std::string> files;
    for (fs::directory_iterator entry(target_, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (!fs::is_regular_file(entry->symlink_status(error)) || error) {
            fail("it holds " + quoted_text(name) + ", which is not from $save-dir"_message, advice);
        }
        files.insert(name);
    }
    if (error) fail(error.message(), "choose another place");
    if (files.empty()) return;
    if (!files.contains("walk.json")) {
        fail("it holds " + quoted_text(*files.begin()) + " and no walk.json from $save-dir"_message,
             advice);
    }

    // The walk lists its steps, each with one file.
    std::set<std::string> steps;
    try {
        InputFile walk(target_ + "/walk.json");
        for (const std::string& name : walk_step_names(walk.all(), "walk.json")) steps.insert(name);
    } catch (const InputError&) {
        fail("its walk.json is not from $save-dir"_message, advice);
    }
    for (const std::string& file : files) {
        if (file != "walk.json" && steps.erase(step_of(file)) == 0) {
            fail("it holds " + quoted_text(file) + ", which its walk.json does not name", advice);
        }
    }
    replaced_.assign(files.begin(), files.end());
}

// Removes the files that check_replaced() found; later ones are kept.
void OutputFolder::remove_replaced(const std::string& folder) const {
    for (const std::string& file : replaced_) ::unlink((folder + "/" + file).c_str());
    if (::rmdir(folder.c_str()) != 0) {
        fail("files were added while it was written: they are kept in " + visible(folder),
             "move them where they belong");
    }
}

OutputFolder::~OutputFolder() = default;

OutputPlace OutputFolder::file(const std::string& name) const {
    return {temporary_->path() + "/" + name, path_ + (path_.ends_with('/') ? "" : "/") + name};
}

void OutputFolder::commit() {
    const Turn turn(folder_of(target_));
    const std::string text = temporary_->path(), older = text + ".old";
    int reason = replaces_ && ::rename(target_.c_str(), older.c_str()) != 0 ? errno : 0;
    if (reason == 0 && ::rename(text.c_str(), target_.c_str()) != 0) {
        reason = errno;
        if (replaces_) ::rename(older.c_str(), target_.c_str());
    }
    if (reason != 0) {
        fail("cannot rename the finished folder to it: " + reason_text(reason),
             "choose another place");
    }
    temporary_->keep();
    if (replaces_) remove_replaced(older);
}

void OutputFolder::fail(const std::string& what, const std::string& advice) const {
    throw OutputError(visible(path_) + ": " + what + ": " + advice);
}

}  // namespace attn
