#include "attn/files/io/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

// The most bytes to read from a pipe or a device: more than any typed table, less than fills the
// memory.
std::size_t longest_stream(mode_t mode, std::size_t most) {
    if (S_ISREG(mode)) return std::numeric_limits<std::size_t>::max();
    return S_ISCHR(mode) ? std::min(most, std::size_t{64} << 20U) : most;
}

}  // namespace

InputFile::InputFile(const std::string& path, std::size_t most) : label_(file_label(path)) {
    descriptor_.number = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                     : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_.number < 0) fail(errno);
    struct stat status {};
    if (::fstat(descriptor_.number, &status) != 0) fail(errno);
    if (S_ISDIR(status.st_mode)) fail(EISDIR);
    // A file of /proc has no size until it is read, and standard input may already have been read
    // in part.
    if (S_ISREG(status.st_mode) && status.st_size > 0 && path != "-") {
        size_ = static_cast<std::uint64_t>(status.st_size);
    } else {
        read_to_the_end(longest_stream(status.st_mode, most));
    }
}

InputFile::InputFile(std::string_view bytes, std::string label)
    : label_(std::move(label)), size_(bytes.size()), view_(bytes) {}

InputFile::Descriptor::~Descriptor() {
    if (number >= 0) ::close(number);
}

void InputFile::fail(int reason) const {
    const char* advice = reason == ENOENT ? "check the path" : "check the file and its permissions";
    throw InputError(label_ + ": cannot be read: " + std::generic_category().message(reason) +
                     ": " + advice);
}

void InputFile::read_to_the_end(std::size_t most) {
    constexpr std::size_t piece = 1U << 16U;
    while (true) {
        memory_.resize(size_ + piece);
        const ssize_t count = ::read(descriptor_.number, memory_.data() + size_, piece);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(errno);
        if (count == 0) break;
        size_ += static_cast<std::size_t>(count);
        if (size_ > most) {
            throw InputError(label_ + ": more than " + std::to_string(most >> 20U) +
                             " MB from a pipe or a device: save it to a file first");
        }
    }
    memory_.resize(size_);
    view_ = memory_;
}

void InputFile::read(std::uint64_t offset, char* to, std::size_t size) const {
    if (offset > size_ || size > size_ - offset) {
        throw InputError(label_ + ": the file ends after " + std::to_string(size_) +
                         " bytes: save it again");
    }
    if (!view_.empty()) {
        std::memcpy(to, view_.data() + offset, size);
        return;
    }
    while (size > 0) {
        const ssize_t count = ::pread(descriptor_.number, to, size, static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(errno);
        if (count == 0) {
            throw InputError(label_ +
                             ": the file has become shorter while it was read: "
                             "wait until it is complete");
        }
        to += count;
        offset += static_cast<std::uint64_t>(count);
        size -= static_cast<std::size_t>(count);
    }
}

std::string InputFile::text(std::uint64_t offset, std::size_t size) const {
    std::string bytes;
    if (offset < size_) bytes.resize(std::min<std::uint64_t>(size, size_ - offset));
    if (!bytes.empty()) read(offset, bytes.data(), bytes.size());
    return bytes;
}

std::string_view InputFile::all() {
    if (view_.empty() && size_ > 0) {
        memory_ = text(0, size_);
        view_ = memory_;
    }
    return view_;
}

void require_regular_file(const std::string& path) {
    // Checked before opening, because opening a pipe waits for its writer.
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
    const char* const kind = S_ISDIR(status.st_mode) ? "a folder" : "a pipe or a device";
    throw InputError(file_label(path) + ": is " + kind + ", not a file: give a file");
}

std::string file_label(const std::string& path) {
    return path == "-" ? "standard input" : visible(path);
}

std::uint64_t little_endian(std::string_view bytes, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) {
        value = value << 8U | static_cast<unsigned char>(bytes[i]);
    }
    return value;
}

std::string little_endian_bytes(std::uint64_t number, std::size_t size) {
    std::string bytes;
    for (; size > 0; --size, number >>= 8U) bytes += static_cast<char>(number & 0xFFU);
    return bytes;
}

}  // namespace attn
