#include "attn/random/generator.hpp"

#include <limits>
#include <string>

#include "attn/random/numpy_generator.hpp"
#include "attn/random/pcg64.hpp"
#include "attn/random/torch_generator.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

/// The seed as it may have been written: the top bit may be a sign.
std::string seed_text(std::uint64_t seed) {
    const auto as_signed = static_cast<std::int64_t>(seed);
    if (as_signed >= 0) return std::to_string(seed);
    return std::to_string(seed) + " (the same bits as " + std::to_string(as_signed) + ")";
}

}  // namespace

std::unique_ptr<Generator> make_generator(Rng rng, std::uint64_t seed, TorchBuild build) {
    switch (rng) {
        case Rng::torch:
            break;
        case Rng::numpy:
            if (seed > std::numeric_limits<std::uint32_t>::max()) {
                throw ConfigError("seed " + seed_text(seed) +
                                  " is out of the range of NumPy's legacy generator: choose a seed "
                                  "from 0 to 4294967295, or the generator numpy-pcg64");
            }
            return std::make_unique<NumpyGenerator>(static_cast<std::uint32_t>(seed));
        case Rng::numpy_pcg64:
            return std::make_unique<NumpyPcg64Generator>(seed);
    }
    return std::make_unique<TorchGenerator>(seed, build);
}

}  // namespace attn
