// The part of zlib that the program uses, by node's own; a page has none.
#include <zlib.h>

#include "attn/ground/tensor/error.hpp"

extern "C" {

// See host.js.
int node_deflate(const unsigned char* from, std::size_t size, unsigned char* to, std::size_t room);
int node_inflater();
int node_feed(int inflater, const unsigned char* from, std::size_t size);
std::size_t node_take(int inflater, unsigned char* to, std::size_t room);
void node_end_inflater(int inflater);

int compress2(Bytef* to, uLongf* room, const Bytef* from, uLong size, int) {
    const int result = node_deflate(from, size, to, *room);
    if (result < 0) return Z_BUF_ERROR;
    *room = static_cast<uLongf>(result);
    return Z_OK;
}

uLong compressBound(uLong size) { return size + size / 1000 + 64; }

int inflateInit2_(z_streamp stream, int, const char*, int) {
    const int number = node_inflater();
    if (number < 0) {
        throw attn::ConfigError(
            "packed parts of this archive are damaged: make it again, or save it with savez");
    }
    stream->reserved = static_cast<uLong>(number);
    return Z_OK;
}
int inflate(z_streamp stream, int) {
    const auto number = static_cast<int>(stream->reserved);
    if (stream->avail_in > 0 && node_feed(number, stream->next_in, stream->avail_in) == 0) {
        return Z_DATA_ERROR;
    }
    stream->next_in += stream->avail_in;
    stream->avail_in = 0;
    const std::size_t copied = node_take(number, stream->next_out, stream->avail_out);
    stream->next_out += copied;
    stream->avail_out -= static_cast<uInt>(copied);
    return Z_OK;
}
int inflateEnd(z_streamp stream) {
    node_end_inflater(static_cast<int>(stream->reserved));
    return Z_OK;
}

}  // extern "C"
