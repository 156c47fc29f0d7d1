#pragma once
#include <minizip/ioapi.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace attn {

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

}  // namespace attn
