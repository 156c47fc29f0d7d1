#include "attn/io/zip_memory.hpp"

#include <algorithm>
#include <cstring>

namespace attn {
namespace {

ZipMemory& memory(voidpf self) { return *static_cast<ZipMemory*>(self); }

}  // namespace

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

}  // namespace attn
