#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "attn/files/io/output_files.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, int reason) {
    throw OutputError(visible(path) + ": cannot " + what + ": " +
                      std::generic_category().message(reason) + ": " +
                      (reason == ENOSPC ? "make room there or " : "") + "choose another place");
}

}  // namespace

OutputPlace OutputSet::file(const std::string& path) {
    const std::string target = OutputFile(path).replaced();
    if (target.empty()) return path;
    const std::string folder = folder_of(target);
    const TemporaryFolder& beside = folders_.try_emplace(folder, target).first->second;
    if (const int reason = beside.reason()) fail(path, "create a folder beside it", reason);
    members_.push_back({path, target, beside.path() + "/" + std::to_string(members_.size())});
    return {members_.back().temporary, path};
}

void OutputSet::commit() {
    std::erase_if(members_,
                  [](const Member& each) { return ::access(each.temporary.c_str(), F_OK) != 0; });
    for (const Member& member : members_) {
        struct stat status {};
        if (::stat(member.target.c_str(), &status) != 0) continue;
        const char* const result = member.temporary.c_str();
        [[maybe_unused]] const int changed = ::chown(result, status.st_uid, status.st_gid);
        ::chmod(result, status.st_mode & 0777);
    }
    if (!members_.empty()) rename_all();
    members_.clear();
    folders_.clear();
}

void OutputSet::rename_all() {
    const Turn turn(folder_of(members_.front().target));
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const char* const result = members_[i].temporary.c_str();
        const char* const target = members_[i].target.c_str();
        // Exchange is possible for a folder that was created in the meantime, too.
        std::error_code ignored;
        const bool is_folder = std::filesystem::is_directory(target, ignored);
        members_[i].exchanged =
            !is_folder && ::renameat2(AT_FDCWD, result, AT_FDCWD, target, RENAME_EXCHANGE) == 0;
        if (members_[i].exchanged || (!is_folder && ::rename(result, target) == 0)) continue;
        const int reason = is_folder ? EISDIR : errno;
        const std::string failed = members_[i].path;
        while (i-- > 0) {
            const Member& done = members_[i];
            ::renameat2(AT_FDCWD, done.target.c_str(), AT_FDCWD, done.temporary.c_str(),
                        done.exchanged ? RENAME_EXCHANGE : 0);
        }
        fail(failed, "rename the finished file to it", reason);
    }
}

}  // namespace attn
