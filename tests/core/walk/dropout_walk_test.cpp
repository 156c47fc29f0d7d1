#include <random>
#include <string>

#include "attn/core/settings/settings.hpp"
#include "attn/explain/backward/backward.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/walked.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

/// The cells of a mask in a row: 1 for each kept cell.
std::string cells_of(const Tensor& keep) {
    std::string cells;
    each_number(keep, [&](std::size_t, double cell) { cells += cell == 1 ? '1' : '0'; });
    return cells;
}

std::string kept_in(const std::string& line, const std::string& name = "keep") {
    return cells_of(walked(configured(line))[name]);
}

Tensor mask_of(const Axes& axes, const Shape& shape, const std::string& cells) {
    Array<double> numbers = empty_array<double>(shape);
    for (std::size_t i = 0; i < cells.size(); ++i) numbers.data()[i] = cells[i] - '0';
    return {axes, std::move(numbers)};
}

std::string refused_dropout(const std::string& line) {
    return refusal<ConfigError>([&] { resolve(configured(line)); });
}

}  // namespace

TEST_SUITE("walk: dropout") {
    TEST_CASE("the mask is the one that F.dropout draws in PyTorch 1.13, whatever the type") {
        for (const char* type : {"float32", "float64", "bfloat16", "float16"}) {
            CAPTURE(type);
            const std::string half = "seq-len 6, dropout 0.5, dtype " + std::string(type);
            CHECK(kept_in(half) == "111101001111001010011011110111111100");
            CHECK(kept_in(half + ", dropout-seed 123") == "110110000101111101011001010101011110");
            CHECK(kept_in(half + ", seed 123") == "110110000101111101011001010101011110");
            CHECK(kept_in("seq-len 4, heads 2, dropout 0.1, dropout-seed 7, dtype " +
                          std::string(type)) == "11110111111111111010011111011011");
        }
    }

    TEST_CASE("a large mask is PyTorch's too: 199811 of 250000 are kept after seed 123") {
        const Ledger given = draw(resolve(configured("seq-len 500, dropout 0.2, seed 123")));
        const std::string cells = cells_of(given["keep"]);
        CHECK(std::ranges::count(cells, '1') == 199811);
    }

    TEST_CASE("NumPy keeps where a uniform is at least p") {
        const std::string quarter = "seq-len 4, dropout 0.25, rng ";
        CHECK(kept_in(quarter + "numpy") == "1111000111011000");
        CHECK(kept_in(quarter + "numpy-pcg64") == "1111011101111110");
    }

    TEST_CASE("the mask has a seed of its own: no other number depends on it") {
        const std::string line = "heads 2, output-projection, sink randn";
        const Ledger without = draw(resolve(configured(line)));
        const Ledger given = draw(resolve(configured(line + ", dropout 0.3, dropout-seed 9")));
        for (const auto& [name, tensor] : without.entries()) {
            CHECK(differences(tensor, given[name]) == 0);
        }
    }

    TEST_CASE("equal weights of 1/4 become 1/2 if they are kept, with p of 1/2") {
        const Ledger ledger =
            walked(configured("seq-len 4, init zeros, dropout 0.5, dtype float64"));
        for (std::size_t i = 0; i < 16; ++i) {
            CHECK(ledger["dropped_weights"].at(i) == ledger["keep"].at(i) / 2);
        }
        for (std::size_t q = 0; q < 4; ++q) {
            for (std::size_t f = 0; f < 4; ++f) {
                double sum = 0;
                for (std::size_t k = 0; k < 4; ++k) {
                    sum += ledger["keep"].at(q * 4 + k) * ledger["value"].at(k * 4 + f) / 2;
                }
                CHECK(ledger["context"].at(q * 4 + f) == doctest::Approx(sum));
            }
        }
    }

    TEST_CASE("each place has its mask and its step, which the next step reads") {
        const std::string line = "heads 2, seq-len 3, batch 2, output-projection, dtype float64, ";
        const Ledger context = walked(configured(line + "dropout 0.4, dropout-place context"));
        CHECK(context["keep_context"].shape() == Shape{2, 2, 3, 4});
        CHECK(context["merged"].at(4) ==
              context["context"].at(12) * context["keep_context"].at(12) / 0.6);
        const Ledger output = walked(configured(line + "dropout 0.4, dropout-place output"));
        CHECK(output["keep_output"].shape() == Shape{2, 3, 8});
        CHECK(output.entries().back().name == "dropped_output");
        CHECK(output["dropped_output"].at(5) ==
              output["output"].at(5) * (output["keep_output"].at(5) / 0.6));
    }

    TEST_CASE("loop, vectorized and fused agree, whether or not blocks are traced") {
        std::mt19937 random(4);
        for (int round = 0; round < 24; ++round) {
            const auto pick = [&](std::initializer_list<const char*> texts) {
                return std::string(texts.begin()[random() % texts.size()]);
            };
            const std::string line =
                "heads " + pick({"1", "2", "4"}) + ", seq-len " + pick({"1", "2", "3", "7", "70"}) +
                ", dropout " + pick({"0.1", "0.5", "0.9"}) + ", dtype float64" +
                pick({"", ", batch 2"}) + pick({"", ", mask causal"}) + pick({"", ", sink randn"}) +
                pick({"", ", dropout-place context"}) + ", variant ";
            CAPTURE(line);
            const Ledger loop = walked(configured(line + "loop"));
            const Ledger vectorized = walked(configured(line + "vectorized"));
            const Ledger fused = walked(configured(line + "fused"));
            const std::string last = loop.entries().back().name;
            CHECK(largest_difference(loop[last], vectorized[last]) < 1e-12);
            CHECK(largest_difference(loop[last], fused[last]) < 1e-12);
            for (const auto& [name, tensor] : fused.entries()) {
                if (const Tensor* other = loop.find(name)) {
                    CHECK(largest_difference(tensor, *other) < 1e-12);
                }
            }
        }
    }

    TEST_CASE("a mask of your own broadcasts to its place, and nothing is drawn") {
        WalkConfig config = configured("heads 2, seq-len 3, dropout 0.5");
        config.dropout.keep = mask_of({"query", "key"}, {3, 3}, "110011101");
        CHECK(cells_of(walked(config)["keep"]) == "110011101110011101");
        config.dropout.keep = mask_of({"key"}, {3}, "101");
        CHECK(cells_of(walked(config)["keep"]) == "101101101101101101");
        config.dropout.keep = mask_of({"key"}, {3}, "102");
        CHECK(refusal<ConfigError>([&] { resolve(config); }).find("dropout-mask contains 2") == 0);
        config.dropout.keep = mask_of({"key"}, {2}, "10");
        CHECK(refusal<ShapeError>([&] { resolve(config); }).find("dropout-mask") == 0);
    }

    TEST_CASE("a fully masked row stays nan, as nan times 0 is nan") {
        const Ledger ledger =
            walked(configured("seq-len 3, batch 1, mask padding, lengths 0, dropout 0.9, seed 1"));
        for (std::size_t i = 0; i < 9; ++i) CHECK(std::isnan(ledger["dropped_weights"].at(i)));
    }

    TEST_CASE("a gradient passes the kept cells, divided by 1 - p, and the mask has none") {
        const Plan plan =
            resolve(configured("heads 2, seq-len 3, dropout 0.3, dtype float64, mask causal"));
        const Ledger ledger =
            walk(plan, draw(plan), with_gradients(step_table(plan), plan, Loss{}));
        CHECK(!ledger.has("d_keep"));
        for (std::size_t i = 0; i < ledger["keep"].size(); ++i) {
            CHECK(ledger["d_weights"].at(i) ==
                  doctest::Approx(ledger["d_dropped_weights"].at(i) * ledger["keep"].at(i) / 0.7));
        }
    }

    TEST_CASE("an impossible dropout is refused") {
        CHECK(refused_dropout("dropout 1").find("would keep nothing") != std::string::npos);
        CHECK(refused_dropout("dropout -0.1").find("not -0.1") != std::string::npos);
        CHECK(refused_dropout("dropout nan").find("dropout") != std::string::npos);
        CHECK(refused_dropout("dropout 0.1, dropout-place output").find("output-projection") !=
              std::string::npos);
        CHECK(refused_dropout("dropout 0.1, prefill 2, mask causal").find("dropout") !=
              std::string::npos);
        CHECK(!walked(configured("dropout 0")).has("keep"));
    }
}
