#include "attn/io/npz.hpp"

#include <minizip/ioapi.h>
#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "attn/io/elements.hpp"
#include "attn/io/file_bytes.hpp"
#include "attn/io/npy.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

constexpr std::uint64_t largest_archive = 1ULL << 31U;

// Deflate turns one byte into at most 1032. Arrays of zeros come near to that and are fine; only
// what would fill the memory as well is taken for an attack.
constexpr std::uint64_t most_unpacked_per_byte = 1032;
constexpr std::uint64_t large = 1ULL << 30U;
constexpr std::uint64_t usual_unpacked_per_byte = 100;

/// Gives the zip library bytes in memory in place of a file: either bytes to read, or room to write
/// whose beginning can be dropped as soon as it has been passed on.
class ZipMemory {
public:
    ZipMemory() = default;
    explicit ZipMemory(std::string_view source) : source_(source) {}
    ZipMemory(const ZipMemory&) = delete;
    ZipMemory& operator=(const ZipMemory&) = delete;

    /// The callbacks for unzOpen2_64 and zipOpen2_64; they refer to this object.
    zlib_filefunc64_def functions();

    /// What was written since the last drop().
    std::string_view bytes() const { return written_; }
    void drop();
    /// Makes room for `size` bytes, so that nothing can throw inside the library.
    void expect(std::size_t size) { written_.reserve(written_.size() + size); }

private:
    std::uint64_t size() const { return dropped_ + written_.size() + source_.size(); }

    static voidpf open(voidpf self, const void* name, int mode);
    static uLong read(voidpf self, voidpf stream, void* to, uLong count);
    static uLong write(voidpf self, voidpf stream, const void* from, uLong count);
    static ZPOS64_T tell(voidpf self, voidpf stream);
    static long seek(voidpf self, voidpf stream, ZPOS64_T offset, int origin);
    static int close(voidpf self, voidpf stream);
    static int error(voidpf self, voidpf stream);

    std::string_view source_;
    std::string written_;
    std::uint64_t dropped_ = 0;
    std::uint64_t position_ = 0;
    bool ended_early_ = false;
};

ZipMemory& memory(voidpf self) { return *static_cast<ZipMemory*>(self); }

zlib_filefunc64_def ZipMemory::functions() {
    return {open, read, write, tell, seek, close, error, this};
}

void ZipMemory::drop() {
    dropped_ += written_.size();
    written_.clear();
}

voidpf ZipMemory::open(voidpf self, const void* /*name*/, int /*mode*/) { return self; }

uLong ZipMemory::read(voidpf self, voidpf /*stream*/, void* to, uLong count) {
    ZipMemory& file = memory(self);
    const std::uint64_t rest =
        file.source_.size() - std::min<std::uint64_t>(file.position_, file.source_.size());
    const uLong available = std::min<uLong>(count, rest);
    if (available > 0) std::memcpy(to, file.source_.data() + file.position_, available);
    file.position_ += available;
    // The library takes the end of the file for a row of zeros unless it is told of an error.
    if (available < count) file.ended_early_ = true;
    return available;
}

uLong ZipMemory::write(voidpf self, voidpf /*stream*/, const void* from, uLong count) {
    ZipMemory& file = memory(self);
    if (file.position_ < file.dropped_) return 0;
    const std::size_t offset = file.position_ - file.dropped_;
    file.written_.resize(std::max<std::size_t>(file.written_.size(), offset + count));
    std::memcpy(file.written_.data() + offset, from, count);
    file.position_ += count;
    return count;
}

ZPOS64_T ZipMemory::tell(voidpf self, voidpf /*stream*/) { return memory(self).position_; }

long ZipMemory::seek(voidpf self, voidpf /*stream*/, ZPOS64_T offset, int origin) {
    ZipMemory& file = memory(self);
    std::uint64_t base = 0;
    if (origin == ZLIB_FILEFUNC_SEEK_CUR) base = file.position_;
    if (origin == ZLIB_FILEFUNC_SEEK_END) base = file.size();
    if (offset > file.size() - base) return -1;
    file.position_ = base + offset;
    return 0;
}

int ZipMemory::close(voidpf /*self*/, voidpf /*stream*/) { return 0; }

int ZipMemory::error(voidpf self, voidpf /*stream*/) { return memory(self).ended_early_ ? 1 : 0; }

[[noreturn]] void fail(const std::string& label, const std::string& what) {
    throw InputError(label + ": " + what + ": save it anew with numpy.savez");
}

[[noreturn]] void fail_as_too_large(const std::string& label) {
    throw InputError(label +
                     ": archives of 2 GiB and more cannot be read: save each array with "
                     "numpy.save, or all as .safetensors");
}

struct CloseArchive {
    void operator()(void* archive) const { unzClose(archive); }
};

// Walks over the entries of an archive.
class Archive {
public:
    Archive(std::string_view bytes, const std::string& label)
        : source_(bytes), total_size_(bytes.size()), label_(label) {
        zlib_filefunc64_def functions = source_.functions();
        archive_.reset(unzOpen2_64(nullptr, &functions));
        if (!archive_) fail(label_, "the directory at the end of the archive is missing");
    }

    // Moves to the first entry and then from one to the next; false after the last.
    bool next() {
        const int result =
            std::exchange(started_, true) ? unzGoToNextFile(handle()) : unzGoToFirstFile(handle());
        unz_global_info64 global{};
        unzGetGlobalInfo64(handle(), &global);
        if (result == UNZ_END_OF_LIST_OF_FILE || global.number_entry == 0) return false;
        if (result != UNZ_OK) fail(label_, "the directory of the archive is damaged");
        read_info();
        return true;
    }

    const std::string& name() const { return name_; }

    Tensor read_array(const std::string& array_label) {
        check_info(array_label);
        if (unzOpenCurrentFile(handle()) != UNZ_OK) {
            fail(array_label, "the entry does not agree with the directory of the archive");
        }
        // The header tells the size, so that no more is unpacked than the array needs.
        constexpr std::size_t longest_header = 64 * 1024;
        const std::size_t size = info_.uncompressed_size;
        const std::size_t first = std::min(size, longest_header);
        auto start = std::make_unique_for_overwrite<char[]>(first);
        unpack(start.get(), first, array_label);
        const NpyLayout layout = parse_npy_layout({start.get(), first}, array_label);
        if (layout.values_size != size - layout.values_offset) {
            fail(array_label, "shape " + shape_text(layout.shape) + " needs " +
                                  std::to_string(layout.values_size) +
                                  " bytes of values, but the archive holds " +
                                  std::to_string(size - layout.values_offset));
        }
        // Unpack the rest and let the library compare the checksum.
        auto whole = std::make_unique_for_overwrite<char[]>(size);
        std::memcpy(whole.get(), start.get(), first);
        unpack(whole.get() + first, size - first, array_label);
        if (unzCloseCurrentFile(handle()) != UNZ_OK) {
            fail(array_label, "the checksum is wrong: the archive is damaged");
        }
        return parse_npy({whole.get(), size}, array_label);
    }

private:
    unzFile handle() { return archive_.get(); }

    void read_info() {
        if (unzGetCurrentFileInfo64(handle(), &info_, nullptr, 0, nullptr, 0, nullptr, 0) !=
            UNZ_OK) {
            fail(label_, "the directory of the archive is damaged");
        }
        name_.resize(info_.size_filename);
        unzGetCurrentFileInfo64(handle(), nullptr, name_.data(), info_.size_filename, nullptr, 0,
                                nullptr, 0);
    }

    void check_info(const std::string& array_label) {
        // The library of Debian 12 misreads the records that larger arrays need.
        constexpr std::uint64_t in_zip64_record = 0xFFFFFFFF;
        if (info_.uncompressed_size == in_zip64_record ||
            info_.compressed_size == in_zip64_record) {
            fail_as_too_large(array_label);
        }
        constexpr uLong encrypted = 1;
        constexpr uLong stored = 0;
        constexpr uLong deflated = 8;
        if ((info_.flag & encrypted) != 0) fail(array_label, "the array is encrypted");
        if (info_.compression_method != stored && info_.compression_method != deflated) {
            fail(array_label,
                 "unknown compression method " + std::to_string(info_.compression_method));
        }
        // Entries that share compressed bytes would multiply what they unpack to.
        if (info_.compressed_size > total_size_ - claimed_) {
            fail(array_label, "the arrays claim more compressed bytes than the file has");
        }
        claimed_ += info_.compressed_size;
        const std::uint64_t packed = std::max<std::uint64_t>(info_.compressed_size, 1);
        const std::uint64_t ratio = info_.uncompressed_size / packed;
        const bool impossible = info_.compression_method == stored
                                    ? info_.uncompressed_size != info_.compressed_size
                                    : ratio > most_unpacked_per_byte;
        const bool suspect = info_.uncompressed_size > large && ratio > usual_unpacked_per_byte;
        if (impossible || suspect) {
            fail(array_label, "it claims to unpack from " + std::to_string(info_.compressed_size) +
                                  " to " + std::to_string(info_.uncompressed_size) + " bytes");
        }
    }

    void unpack(char* to, std::size_t size, const std::string& array_label) {
        while (size > 0) {
            const auto piece = static_cast<unsigned>(std::min<std::size_t>(size, 1U << 30U));
            const int count = unzReadCurrentFile(handle(), to, piece);
            if (count <= 0) fail(array_label, "the compressed bytes are damaged or end early");
            to += count;
            size -= static_cast<std::size_t>(count);
        }
    }

    ZipMemory source_;
    std::unique_ptr<void, CloseArchive> archive_;
    std::uint64_t total_size_;
    std::uint64_t claimed_ = 0;
    const std::string& label_;
    unz_file_info64 info_{};
    std::string name_;
    bool started_ = false;
};

}  // namespace

std::vector<NamedTensor> parse_npz(std::string_view bytes, const std::string& label) {
    constexpr std::string_view ending{".npy"};
    std::vector<NamedTensor> tensors;
    // The library does not know archives without entries.
    constexpr std::size_t empty_archive_size = 22;
    if (bytes.starts_with("PK\x05\x06") && bytes.size() == empty_archive_size) return tensors;
    // Beyond this size NumPy moves offsets to zip64 records, which the library misreads.
    if (bytes.size() >= largest_archive) fail_as_too_large(label);
    std::set<std::string> names;
    Archive archive(bytes, label);
    while (archive.next()) {
        if (!archive.name().ends_with(ending)) {
            throw InputError(label + ": holds " + shown(archive.name()) +
                             ", which is no array of NumPy: save the arrays with numpy.savez "
                             "(a PyTorch checkpoint: as .safetensors)");
        }
        std::string name = archive.name().substr(0, archive.name().size() - ending.size());
        if (!names.insert(name).second) fail(label, "holds " + shown(name) + " twice");
        Tensor tensor = archive.read_array(label + ": array " + shown(name));
        tensors.push_back({std::move(name), std::move(tensor)});
    }
    return tensors;
}

void write_npz(OutputFile& file, const std::vector<TensorRef>& tensors) {
    check_names(file.path(), tensors);
    ZipMemory sink;
    zlib_filefunc64_def functions = sink.functions();
    // A disk that is full throws in between, and the library's own memory must go then too.
    const auto close = [](void* open) { zipClose(open, nullptr); };
    std::unique_ptr<void, decltype(close)> owner(
        zipOpen2_64(nullptr, APPEND_STATUS_CREATE, nullptr, &functions), close);
    const zipFile archive = owner.get();
    zip_fileinfo info{};
    info.dosDate = 1U << 21U | 1U << 16U;  // 1980-01-01: the same tensors give the same bytes
    int status = ZIP_OK;
    for (const auto& [name, tensor] : tensors) {
        const std::string header = npy_header(tensor);
        const std::string_view values = value_bytes(tensor);
        sink.expect(header.size() + values.size() + 2 * name.size() + 1024);
        constexpr uLong names_are_utf8 = 1U << 11U;
        const bool zip64 = values.size() > 0xFFFF0000U;
        status |= zipOpenNewFileInZip4_64(archive, (name + ".npy").c_str(), &info, nullptr, 0,
                                          nullptr, 0, nullptr, 0, 0, 0, -MAX_WBITS, DEF_MEM_LEVEL,
                                          Z_DEFAULT_STRATEGY, nullptr, 0, 0, names_are_utf8, zip64);
        for (std::string_view rest : {std::string_view(header), values}) {
            while (!rest.empty()) {
                const std::string_view piece = rest.substr(0, 1U << 30U);
                status |=
                    zipWriteInFileInZip(archive, piece.data(), static_cast<unsigned>(piece.size()));
                rest.remove_prefix(piece.size());
            }
        }
        status |= zipCloseFileInZip(archive);
        // The library goes back within an entry but never before it, so memory holds one at a time.
        file.write(sink.bytes());
        sink.drop();
    }
    status |= zipClose(owner.release(), nullptr);
    if (status != ZIP_OK) {
        throw OutputError(file.path() + ": the zip library gave up with status " +
                          std::to_string(status) + ": write .npy files instead");
    }
    file.write(sink.bytes());
}

}  // namespace attn
