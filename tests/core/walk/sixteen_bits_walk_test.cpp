// Walks in 16 bits: the numbers are those of PyTorch 1.13, with sums in float32.
#include <doctest/doctest.h>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/ground/random/torch_generator.hpp"
#include "attn/show/render/torch_text.hpp"
#include "tests/support/walked.hpp"

using namespace attn;

namespace {

WalkConfig config_of(DType type) {
    WalkConfig config;
    config.dtype = type;
    configure(config, "seed 1, seq-len 3, embed-dim 8");
    config.mask.causal = true;
    return config;
}

std::string text(const Tensor& tensor) { return torch_text(tensor); }

std::string drawn(Generator& generator, std::size_t count, DType type) {
    Array<float> cells = empty_array<float>({count});
    generator.randn(std::span<float>(cells.data(), count), type);
    return text(Tensor({"query"}, std::move(cells)).of_type(type));
}

}  // namespace

TEST_SUITE("walk: 16 bits") {
    TEST_CASE("normals are drawn in the type: few in double precision, many in blocks") {
        TorchGenerator brain(0), half(0);
        CHECK(drawn(brain, 3, DType::bfloat16) ==
              "tensor([ 1.5391, -0.2930, -2.1719], dtype=torch.bfloat16)");
        CHECK(drawn(brain, 17, DType::bfloat16) ==
              "tensor([-0.1475,  0.3242,  1.3672,  0.0593,  0.8398, -0.2930, -0.1118,  0.0083,\n"
              "        -0.4707, -0.8086, -0.4434, -0.4492, -0.0544,  0.7578, -0.2432, -1.3125,\n"
              "         0.9883], dtype=torch.bfloat16)");
        CHECK(drawn(half, 3, DType::float16) ==
              "tensor([ 1.5410, -0.2935, -2.1797], dtype=torch.float16)");
        CHECK(drawn(half, 17, DType::float16) ==
              "tensor([-0.3159, -1.0234, -1.2783,  0.4429,  1.0312,  0.2289, -0.2393,  0.4744,\n"
              "        -0.2927,  0.1521,  1.3848, -0.6416, -0.0060, -0.1387, -0.9468,  2.3789,\n"
              "         0.1731], dtype=torch.float16)");
    }

    TEST_CASE("each step is stored in the type") {
        for (const Variant variant : {Variant::loop, Variant::vectorized}) {
            WalkConfig config = config_of(DType::bfloat16);
            config.variant = variant;
            const Ledger brain = testing::walked(config);
            CHECK(text(brain["scores"]) ==
                  "tensor([[-1.0000,  1.0938, -1.6016],\n"
                  "        [ 2.4219, -1.5547,  2.4531],\n"
                  "        [-1.2188,  0.9336, -1.9375]], dtype=torch.bfloat16)");
            // The square root of 8 is rounded to the type, too.
            CHECK(text(brain["scaled_scores"]) ==
                  "tensor([[-0.3535,  0.3867, -0.5664],\n"
                  "        [ 0.8555, -0.5508,  0.8672],\n"
                  "        [-0.4316,  0.3301, -0.6836]], dtype=torch.bfloat16)");
            CHECK(text(brain["weights"]) ==
                  "tensor([[1.0000, 0.0000, 0.0000],\n"
                  "        [0.8047, 0.1973, 0.0000],\n"
                  "        [0.2559, 0.5469, 0.1982]], dtype=torch.bfloat16)");
            config.dtype = DType::float16;
            const Ledger half = testing::walked(config);
            CHECK(text(half["weights"]) ==
                  "tensor([[1.0000, 0.0000, 0.0000],\n"
                  "        [0.4756, 0.5244, 0.0000],\n"
                  "        [0.3845, 0.3750, 0.2405]], dtype=torch.float16)");
            CHECK(
                text(slice(half["context"], "2")) ==
                "tensor([-0.0883, -0.3196,  0.3284,  0.3032,  0.2571,  0.1782, -0.3044,  0.1272],\n"
                "       dtype=torch.float16)");
        }
    }

    TEST_CASE("every floating tensor of every kind of walk has only numbers of the type") {
        for (const DType type : {DType::float16, DType::bfloat16}) {
            WalkConfig config = config_of(type);
            config.heads = 2;
            config.bias = config.output_projection = true;
            configure(config, "softcap 3, qk-norm head, rope half");
            for (const Variant variant : {Variant::loop, Variant::vectorized, Variant::fused}) {
                config.variant = variant;
                const Ledger ledger = testing::walked(config);
                for (const auto& [name, tensor] : ledger.entries()) {
                    const bool is_angle = name == "angles" || name == "inverse_frequencies";
                    if (!tensor.is_floating() || is_angle) continue;
                    CHECK_MESSAGE(tensor.dtype() == type, name);
                    CHECK_MESSAGE(same_numbers(cast(cast(tensor, DType::float64), type), tensor),
                                  name);
                }
                CHECK(ledger["angles"].dtype() == DType::float32);
            }
        }
    }

    TEST_CASE("each operation of a step rounds: a product, a bias, and the sum of both") {
        WalkConfig config = config_of(DType::bfloat16);
        config.heads = 2;
        config.rotary.pairing = Pairing::half;
        const Ledger ledger = testing::walked(config);
        const Plan plan = resolve(config);
        const Tensor& query = ledger["query"];
        const Tensor& rotated = ledger["rotated_query"];
        const auto rounded = [](double x) {
            return static_cast<double>(
                static_cast<float>(cast(Tensor({}, Array<double>(x)), DType::bfloat16).at(0)));
        };
        // Row 1 of head 0: feature 0 and its partner, feature 2 of 4.
        const double a = query.at(4), b = query.at(6);
        const double c = ledger["cos"].at(2), s = ledger["sin"].at(2);
        CHECK(rotated.at(4) == rounded(rounded(a * c) - rounded(b * s)));
        CHECK(rotated.at(6) == rounded(rounded(b * c) + rounded(a * s)));
    }
}
