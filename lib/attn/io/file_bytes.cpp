#include "attn/io/file_bytes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "attn/tensor/error.hpp"

namespace attn {
namespace {

[[noreturn]] void fail(const std::string& label, int reason) {
    const char* advice = reason == ENOENT ? "check the path" : "check the file and its permissions";
    throw InputError(label + ": cannot be read: " + std::generic_category().message(reason) + ": " +
                     advice);
}

// Closes a descriptor at the end of its scope, also when reading throws.
struct Descriptor {
    int number;
    explicit Descriptor(int opened) : number(opened) {}
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
};

}  // namespace

FileBytes::FileBytes(std::size_t capacity)
    : data_(std::make_unique_for_overwrite<char[]>(capacity)), capacity_(capacity) {}

FileBytes FileBytes::read_all(int descriptor, std::size_t expected, const std::string& label) {
    // One byte more than expected, so that the end is seen without growing.
    FileBytes bytes(expected + 1);
    while (true) {
        if (bytes.size_ == bytes.capacity_) {
            FileBytes larger(bytes.capacity_ + std::max<std::size_t>(bytes.capacity_, 1U << 16U));
            std::memcpy(larger.data_.get(), bytes.data_.get(), bytes.size_);
            larger.size_ = bytes.size_;
            bytes = std::move(larger);
        }
        const ssize_t count =
            ::read(descriptor, bytes.data_.get() + bytes.size_, bytes.capacity_ - bytes.size_);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(label, errno);
        if (count == 0) return bytes;
        bytes.size_ += static_cast<std::size_t>(count);
    }
}

FileBytes read_file_bytes(const std::string& path) {
    if (path == "-") return FileBytes::read_all(STDIN_FILENO, 0, file_label(path));
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (file.number < 0) fail(path, errno);
    struct stat status {};
    if (::fstat(file.number, &status) != 0) fail(path, errno);
    if (S_ISDIR(status.st_mode)) fail(path, EISDIR);
    const bool regular = S_ISREG(status.st_mode) && status.st_size > 0;
    return FileBytes::read_all(file.number, regular ? static_cast<std::size_t>(status.st_size) : 0,
                               path);
}

std::string file_label(const std::string& path) { return path == "-" ? "standard input" : path; }

std::uint64_t little_endian(std::string_view bytes, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) {
        value = value << 8U | static_cast<unsigned char>(bytes[i]);
    }
    return value;
}

}  // namespace attn
