#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attn {

/// The bytes of a file, read on demand: a file of gigabytes costs only the parts that are used. A
/// pipe, a terminal or a device cannot seek and is read to its end at once.
///
/// Errors  InputError naming the file and the system's reason, from every function.
class InputFile {
public:
    /// Opens the file at `path`; `-` is standard input.
    /// Errors  also if a pipe has more than `most` bytes, or a device more than 64 MiB
    /// (`/dev/zero`).
    explicit InputFile(const std::string& path, std::size_t most = std::size_t{1} << 30U);
    /// Uses bytes in memory, which must outlive this, with `label` as the name for messages.
    InputFile(std::string_view bytes, std::string label);

    /// Returns the name for messages: the path itself, or `standard input`.
    const std::string& label() const { return label_; }
    std::uint64_t size() const { return size_; }

    /// Copies the bytes from `offset` on to `to`.
    /// Errors  also if the file has become shorter.
    void read(std::uint64_t offset, char* to, std::size_t size) const;
    /// Returns them as a string, truncated at the end of the file.
    std::string text(std::uint64_t offset, std::size_t size) const;
    /// Returns the whole file, which stays in memory from now on.
    std::string_view all();

private:
    [[noreturn]] void fail(int reason) const;
    void read_to_the_end(std::size_t most);

    struct Descriptor {
        int number = -1;
        Descriptor() = default;
        ~Descriptor();
        Descriptor(const Descriptor&) = delete;
        Descriptor& operator=(const Descriptor&) = delete;
    };

    std::string label_;
    std::uint64_t size_ = 0;
    Descriptor descriptor_;
    std::string_view view_;  // empty as long as the bytes are only in the file
    std::string memory_;     // owns the bytes, unless the caller does
};

/// Refuses a path that is not a regular file.
/// Errors  InputError for a folder, a pipe or a device.
void require_regular_file(const std::string& path);

/// Returns the name for messages: the path, with control characters escaped, or `standard input`.
std::string file_label(const std::string& path);

/// Returns the unsigned number in the first `size` (at most 8) bytes of `bytes`, little-endian.
std::uint64_t little_endian(std::string_view bytes, std::size_t size);
/// Returns the little-endian bytes of a number.
std::string little_endian_bytes(std::uint64_t number, std::size_t size);

}  // namespace attn
