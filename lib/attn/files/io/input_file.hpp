#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attn {

/// The bytes of a file, read where they are asked for: a file of gigabytes costs what is used of
/// it. A pipe, a terminal or a device has no places to go back to and is read to its end at once.
///
/// Errors  InputError naming the file and the system's reason, from every function.
class InputFile {
public:
    /// Opens the file at `path`; `-` is standard input.
    /// Errors  also when a pipe goes on for more than `most` bytes, or a device for more than 64
    ///         MiB (`/dev/zero`).
    explicit InputFile(const std::string& path, std::size_t most = std::size_t{1} << 30U);
    /// Bytes in memory, which must outlive this; messages call them `label`.
    InputFile(std::string_view bytes, std::string label);

    /// How messages call the file: the path itself, or `standard input`.
    const std::string& label() const { return label_; }
    std::uint64_t size() const { return size_; }

    /// Copies the bytes from `offset` on to `to`.
    /// Errors  also when the file has become shorter meanwhile.
    void read(std::uint64_t offset, char* to, std::size_t size) const;
    /// The same as a string, cut where the file ends.
    std::string text(std::uint64_t offset, std::size_t size) const;
    /// The whole file, which stays in memory from now on.
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
    std::string_view view_;  // empty while the bytes are in the file alone
    std::string memory_;     // owns them, unless the caller does
};

/// Refuses what is there and is no file to go back and forth in.
/// Errors  InputError for a folder, a pipe or a device.
void require_regular_file(const std::string& path);

/// How messages call the file at `path`: the path, its controls written out, or `standard input`.
std::string file_label(const std::string& path);

/// The unsigned number that the first `size` (at most 8) bytes of `bytes` give, least byte first.
std::uint64_t little_endian(std::string_view bytes, std::size_t size);
/// The bytes of a number, the other way round.
std::string little_endian_bytes(std::uint64_t number, std::size_t size);

}  // namespace attn
