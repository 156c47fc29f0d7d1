#include "attn/files/io/output_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <system_error>
#include <utility>

#include "attn/files/io/number_lists.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr std::size_t gather_limit = 64 * 1024;

// `/dev/fd/3` and `/proc/self/fd/3` name a descriptor of this process. Opening them again would
// lose the position and the append mode that the shell has set, so the descriptor is shared.
std::optional<int> named_descriptor(std::string_view path) {
    for (std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
        if (!path.starts_with(folder)) continue;
        const auto number = parse_whole<int>(path.substr(folder.size()));
        if (number && *number >= 0) return number;
    }
    return std::nullopt;
}

// Resolves all symbolic links of a path; the last one may point to a file that does not exist yet.
// Returns a descriptor's name as it is. Gives up after 40 links, like the system.
std::optional<std::string> resolve_links(std::string path) {
    for (int links = 0; links <= 40; ++links) {
        std::array<char, PATH_MAX> text{};
        if (named_descriptor(path)) return path;
        const ssize_t length = ::readlink(path.c_str(), text.data(), text.size());
        if (length < 0) return path;
        const std::string link(text.data(), static_cast<std::size_t>(length));
        path = link.starts_with('/') ? link : folder_of(path) + link;
    }
    return std::nullopt;
}

}  // namespace

OutputFile::OutputFile(const OutputPlace& place) : path_(place.shown) {
    const std::optional<std::string> resolved = resolve_links(place.path);
    if (!resolved) fail("open", ELOOP);
    target_ = *resolved;

    if (const std::optional<int> descriptor = named_descriptor(target_)) {
        descriptor_ = ::fcntl(*descriptor, F_DUPFD_CLOEXEC, 0);
        if (descriptor_ < 0) fail("open", errno);
        return;
    }
    struct stat status {};
    const bool exists = ::stat(target_.c_str(), &status) == 0;
    if (!exists && errno != ENOENT) fail("write", errno);
    if (exists && S_ISDIR(status.st_mode)) fail("write", EISDIR);
    if (exists && !S_ISREG(status.st_mode)) {
        descriptor_ = ::open(target_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
        if (descriptor_ < 0) fail("open", errno);
        return;
    }
    // A rename would replace even a write-protected file.
    if (exists && ::access(target_.c_str(), W_OK) != 0) fail("write", errno);
    temporary_file_ = make_temporary(target_, [](const char* temporary) {
        return ::open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    });
    descriptor_ = temporary_file_.descriptor;
    if (temporary_file_.reason != 0) {
        fail(temporary_file_.path.empty() ? "write" : "create a temporary file beside it",
             temporary_file_.reason);
    }
    if (exists) {
        // Only a privileged user may change the owner; for others it is already right.
        [[maybe_unused]] const int changed = ::fchown(descriptor_, status.st_uid, status.st_gid);
        ::fchmod(descriptor_, status.st_mode & 0777);
    }
}

OutputFile::~OutputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (temporary_file_.pending) ::unlink(temporary_file_.path.c_str());
}

void OutputFile::write(std::string_view bytes) {
    if (gathered_.size() + bytes.size() <= gather_limit) {
        gathered_ += bytes;
        return;
    }
    send(gathered_);
    gathered_.clear();
    if (bytes.size() < gather_limit) {
        gathered_ = bytes;
    } else {
        send(bytes);
    }
}

void OutputFile::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail("write", errno);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void OutputFile::commit() {
    send(gathered_);
    gathered_.clear();
    // Network file systems and quotas report a full disk only here. There is no fsync: the rename
    // keeps other programs from seeing half a file, and waiting for the disk would cost seconds.
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0 && errno != EINTR) fail("write", errno);
    if (temporary_file_.pending && ::rename(temporary_file_.path.c_str(), target_.c_str()) != 0) {
        fail("rename the finished temporary file to it", errno);
    }
    temporary_file_.pending = {};
}

void OutputFile::fail(const std::string& action, int reason) const {
    const char* advice = "choose another place";
    if (reason == ENOSPC || reason == EDQUOT || reason == EFBIG)
        advice = "make room there or choose another place";
    if (reason == EISDIR) advice = "name a file in it";
    if (reason == ENOENT) advice = "create its folder first";
    throw OutputError(visible(path_) + ": cannot " + action + ": " +
                      std::generic_category().message(reason) + ": " + advice);
}

void write_file(const OutputPlace& place, std::string_view bytes) {
    OutputFile file(place);
    file.write(bytes);
    file.commit();
}

}  // namespace attn
