#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace attn {

/// The content of a file, held in memory that was never cleared first.
class FileBytes {
public:
    FileBytes() = default;
    explicit FileBytes(std::size_t capacity);

    std::string_view view() const { return {data_.get(), size_}; }

    /// Reads `descriptor` to its end, starting with `expected` bytes of room.
    /// Errors  InputError with the system's reason; `label` names the file.
    static FileBytes read_all(int descriptor, std::size_t expected, const std::string& label);

private:
    std::unique_ptr<char[]> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

/// Reads the file at `path`, or standard input when it is `-`.
/// Errors  InputError naming the path and the system's reason.
FileBytes read_file_bytes(const std::string& path);

/// How messages call the file: the path itself, or `standard input` for `-`.
std::string file_label(const std::string& path);

/// The unsigned number that the first `size` (at most 8) bytes of `bytes` give, least byte first.
std::uint64_t little_endian(std::string_view bytes, std::size_t size);

}  // namespace attn
