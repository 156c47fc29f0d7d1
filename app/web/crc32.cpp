// The only function of zlib that the core uses, for seeds that are words.
#include <zlib.h>

#include <array>
#include <cstdint>

extern "C" uLong crc32_z(uLong before, const unsigned char* bytes, z_size_t size) {
    static const auto table = [] {
        std::array<std::uint32_t, 256> result{};
        for (std::uint32_t i = 0; i < result.size(); ++i) {
            result[i] = i;
            for (int bit = 0; bit < 8; ++bit) {
                result[i] = result[i] >> 1U ^ (result[i] & 1U ? 0xEDB88320U : 0U);
            }
        }
        return result;
    }();
    auto sum = ~static_cast<std::uint32_t>(before);
    for (z_size_t i = 0; bytes != nullptr && i < size; ++i) {
        sum = table[(sum ^ bytes[i]) & 0xFFU] ^ sum >> 8U;
    }
    return ~sum;
}
