#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/files/io/input_file.hpp"
#include "attn/files/io/output_files.hpp"

namespace attn {

/// One file inside a zip archive, as the archive's directory describes it.
struct ZipEntry {
    std::string name;
    std::uint64_t packed = 0;    // bytes in the archive
    std::uint64_t unpacked = 0;  // and unpacked
    std::uint64_t header = 0;    // start, with a local header
    std::uint32_t checksum = 0;
    unsigned method = 0;
    unsigned flags = 0;
};

/// Reads the directory of a zip archive, in its order; supports zip64 records.
/// Errors  InputError, starting with the file's label: no directory, a damaged one, and entries
///         with more bytes in total than the file has.
/// Source  PKWARE's APPNOTE.TXT.
std::vector<ZipEntry> zip_directory(const InputFile& file);

/// Largest expansion ratio of deflate.
inline constexpr std::uint64_t most_unpacked_per_byte = 1032;

/// Largest size of an archive's comment.
inline constexpr std::size_t longest_zip_comment = 0xFFFF;

/// Returns the comment of a zip archive; empty if the file is not an archive.
/// Errors  InputError as zip_directory.
std::string zip_comment(const InputFile& file);

/// Unpacks one entry, stored or deflated, from its beginning to its end.
///
/// Errors  InputError, starting with `label`, from every function: an encrypted entry, an unknown
///         method, a size that its bytes cannot unpack to, damaged bytes.
class ZipEntryReader {
public:
    ZipEntryReader(const InputFile& file, const ZipEntry& entry, std::string label);
    ~ZipEntryReader();
    ZipEntryReader(const ZipEntryReader&) = delete;
    ZipEntryReader& operator=(const ZipEntryReader&) = delete;

    /// Reads the next `size` bytes.
    void read(char* to, std::size_t size);
    /// Must be called after the last byte: compares the checksum.
    void finish();

private:
    [[noreturn]] void fail(const std::string& what) const;
    void check_claims() const;
    void find_bytes();
    void inflate(char* to, std::size_t size);

    struct Inflater;
    const InputFile& file_;
    const ZipEntry& entry_;
    std::string label_;
    std::uint64_t place_ = 0;  // offset in the file of the next packed byte
    std::uint64_t left_ = 0;   // packed bytes not read yet
    std::uint32_t checksum_ = 0;
    std::unique_ptr<Inflater> inflater_;
};

/// Writes a zip archive, with entries stored and dated 1980: the same bytes give the same archive.
/// Errors  OutputError as OutputFile.
class ZipWriter {
public:
    explicit ZipWriter(OutputFile& file) : file_(file) {}
    /// Adds an entry with the bytes of `first` and `second`.
    void add(const std::string& name, std::string_view first, std::string_view second);
    /// Writes the directory, after the last entry, and a comment of at most longest_zip_comment.
    void finish(std::string_view comment = {});

private:
    void write(std::string_view bytes);

    OutputFile& file_;
    std::uint64_t position_ = 0;
    std::vector<ZipEntry> entries_;
};

}  // namespace attn
