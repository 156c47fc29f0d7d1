// Names, layouts and forms of other libraries: tensors computed here, passed to the program.

#include <array>
#include <cmath>

#include "attn/files/io/output_files.hpp"
#include "attn/ground/text/number_text.hpp"
#include "tests/support/program.hpp"

// A name of its own, as several test files are compiled as one.
namespace strangers {
using program::Folder;
using program::has;
using program::run;
namespace {

constexpr std::size_t heads = 2, tokens = 4, width = 2, features = 4;

/// A row-major array of numbers, and its shape.
struct Numbers {
    std::vector<std::size_t> shape;
    std::vector<double> cells = std::vector<double>(size());

    std::size_t size() const {
        std::size_t all = 1;
        for (const std::size_t length : shape) all *= length;
        return all;
    }
};

std::string json(const Numbers& numbers, std::size_t axis = 0, std::size_t from = 0) {
    if (axis == numbers.shape.size()) return attn::shortest_text(numbers.cells[from]);
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < numbers.shape.size(); ++i) inner *= numbers.shape[i];
    std::string text;
    for (std::size_t i = 0; i < numbers.shape[axis]; ++i) {
        text += (i == 0 ? "[" : ", ") + json(numbers, axis + 1, from + i * inner);
    }
    return text + "]";
}

Numbers made(std::vector<std::size_t> shape, double start) {
    Numbers all{std::move(shape)};
    for (std::size_t i = 0; i < all.cells.size(); ++i) {
        all.cells[i] =
            std::sin(start + 1.7 * static_cast<double>(i) + start * static_cast<double>(i));
    }
    return all;
}

/// Attention of two heads over four tokens, causal, in plain loops.
struct Attention {
    Numbers x = made({tokens, features}, 0.3);
    std::array<Numbers, 4> w{made({features, features}, 1.1), made({features, features}, 2.3),
                             made({features, features}, 3.2), made({features, features}, 4.7)};
    Numbers q{{heads, tokens, width}}, k{{heads, tokens, width}}, v{{heads, tokens, width}};
    Numbers weights{{heads, tokens, tokens}}, mean{{tokens, tokens}}, lse{{heads, tokens}};
    Numbers sum{{heads, tokens, width}}, merged{{tokens, features}}, out{{tokens, features}};

    /// `loud` multiplies the values of head 0, which the output ignores unless it is 1. `size`
    /// scales x and the weights.
    explicit Attention(double scale = std::sqrt(0.5), double loud = 1, double size = 1) {
        for (Numbers* each : {&x, &w[0], &w[1], &w[2], &w[3]}) {
            for (double& cell : each->cells) cell *= size;
        }
        for (std::size_t i = 0; i < features * width; ++i) {
            w[2].cells[i] *= loud;
            double& read = w[3].cells[i / width * features + i % width];
            read = loud == 1 ? read : 0;
        }
        for (std::size_t i = 0; i < 3; ++i) project(i);
        for (std::size_t row = 0; row < heads * tokens; ++row) attend(row, scale);
        for (std::size_t i = 0; i < tokens * features; ++i) {
            for (std::size_t f = 0; f < features; ++f) {
                out.cells[i] += merged.cells[i / features * features + f] *
                                w[3].cells[i % features * features + f];
            }
        }
    }

    void project(std::size_t which) {
        Numbers& compiled_cards = which == 0 ? q : which == 1 ? k : v;
        for (std::size_t i = 0; i < compiled_cards.cells.size(); ++i) {
            const std::size_t head = i / (tokens * width), token = i / width % tokens;
            for (std::size_t f = 0; f < features; ++f) {
                compiled_cards.cells[i] +=
                    x.cells[token * features + f] *
                    w[which].cells[(head * width + i % width) * features + f];
            }
        }
    }

    void attend(std::size_t row, double scale) {
        const std::size_t head = row / tokens, query = row % tokens;
        double all = 0;
        for (std::size_t key = 0; key <= query; ++key) {
            double score = 0;
            for (std::size_t f = 0; f < width; ++f) {
                score += q.cells[row * width + f] * k.cells[(head * tokens + key) * width + f];
            }
            all += weights.cells[row * tokens + key] = std::exp(score * scale);
        }
        lse.cells[row] = std::log(all);
        for (std::size_t key = 0; key < tokens; ++key) {
            double& weight = weights.cells[row * tokens + key];
            for (std::size_t f = 0; f < width; ++f) {
                const double part = weight * v.cells[(head * tokens + key) * width + f];
                sum.cells[row * width + f] += part;
                merged.cells[query * features + head * width + f] += part / all;
            }
            weight /= all;
            mean.cells[query * tokens + key] += weight / heads;
        }
    }
};

using Named = std::vector<std::pair<std::string, Numbers>>;

program::Result diagnosed_alone(const Named& all, const std::string& more = "--decimals 6") {
    const Folder folder;
    std::string text;
    for (const auto& [name, numbers] : all) {
        text += (text.empty() ? "{\"" : ", \"") + name + "\": " + json(numbers);
    }
    attn::write_file(folder / "mine.json", text + "}");
    return run("diagnose '" + (folder / "mine.json") + "' --heads 2 --mask causal " + more);
}

program::Result diagnosed(const Attention& of, const Named& actual,
                          const std::string& more = "--decimals 6") {
    Named all{{"x", of.x}, {"w_q", of.w[0]}, {"w_k", of.w[1]}, {"w_v", of.w[2]}, {"w_o", of.w[3]}};
    all.insert(all.end(), actual.begin(), actual.end());
    return diagnosed_alone(all, more);
}

Numbers head_of(const Numbers& all, std::size_t head) {
    Numbers one{{all.shape[1], all.shape[2]}};
    for (std::size_t i = 0; i < one.cells.size(); ++i) {
        one.cells[i] = all.cells[head * one.cells.size() + i];
    }
    return one;
}

const Attention right;
const Attention unscaled(1);

}  // namespace
}  // namespace strangers

TEST_SUITE("app: diagnose strangers") {
    using namespace strangers;

    TEST_CASE("weights averaged over heads are recognised, and one mistake is named alone") {
        const auto good = diagnosed(right, {{"attn", right.mean}, {"out", right.out}});
        CHECK(good.exit_code == 0);
        CHECK(has(good.out, "weights-averaged, harmless"));
        const auto bad = diagnosed(unscaled, {{"attn", unscaled.mean}, {"out", unscaled.out}});
        CHECK(bad.exit_code == 1);
        CHECK_MESSAGE(has(bad.out, "averaged_weights: scale-missing"), bad.out);
        CHECK_FALSE(has(bad.out, "no known mistake"));
    }

    TEST_CASE("the state of a running softmax is right: an undivided sum, lse, any maximum") {
        Numbers zero{{heads, tokens}}, sums{{heads, tokens}};
        for (std::size_t i = 0; i < sums.cells.size(); ++i) {
            sums.cells[i] = std::exp(right.lse.cells[i]);
        }
        CHECK(diagnosed(right, {{"acc", right.sum}, {"m", zero}, {"l", sums}}).exit_code != 1);
        const auto good =
            diagnosed(right, {{"row_max", zero}, {"row_sum", sums}, {"out", right.out}});
        CHECK(good.exit_code == 0);
        CHECK(has(good.out, "other-row-max, harmless"));
        const auto lse = diagnosed(right, {{"softmax_lse", right.lse}, {"out", right.out}});
        CHECK(lse.exit_code == 0);
        CHECK(has(lse.out, "softmax_lse is log_sum_exp"));
        const auto bad = diagnosed(unscaled, {{"lse", unscaled.lse}, {"out", unscaled.out}});
        CHECK(has(bad.out, "log_sum_exp: scale-missing"));
        Numbers other = right.lse;
        for (double& cell : other.cells) cell = std::cos(9 * cell);
        for (const char* name : {"lse", "l", "m"}) {
            const auto unknown = diagnosed(right, {{name, other}, {"out", right.out}});
            CHECK(unknown.exit_code == 3);
            CHECK(has(unknown.out, "no known mistake matches"));
        }
    }

    TEST_CASE("an output matrix with a head axis is read in either order of its axes") {
        for (const bool features_first : {false, true}) {
            for (Attention one : {right, unscaled}) {
                for (std::size_t i = 0; i < 3; ++i) one.w[i].shape = {heads, width, features};
                const Numbers w = one.w[3];
                one.w[3].shape = {heads, width, features};
                if (features_first) one.w[3].shape = {features, heads, width};
                for (std::size_t i = 0; i < w.cells.size() && !features_first; ++i) {
                    one.w[3].cells[i % features * features + i / features] = w.cells[i];
                }
                const auto answer = diagnosed(one, {{"attn", one.weights}, {"y", one.out}});
                CAPTURE(answer.out);
                CHECK(answer.err == "");
                const bool is_right = one.out.cells == right.out.cells;
                CHECK(answer.exit_code == (is_right ? 0 : 1));
                CHECK(has(answer.out, is_right ? "right: weights, output" : "scale-missing"));
            }
        }
    }

    TEST_CASE("a tensor whose name is unknown or impossible is matched by its shape") {
        for (const char* name : {"m", "l", "mask", "hidden", "blorp", "k_out"}) {
            CAPTURE(name);
            CHECK(diagnosed(right, {{name, right.out}}).exit_code == 0);
            const auto bad = diagnosed(unscaled, {{name, unscaled.out}});
            CHECK(bad.exit_code == 1);
            CHECK(has(bad.out, "output: scale-missing"));
        }
        Numbers later = right.out;
        for (double& cell : later.cells) cell = std::tanh(cell);
        const auto beside = diagnosed(right, {{"blorp", later}, {"out", right.out}});
        CHECK(beside.exit_code == 3);
        CHECK(has(beside.out, "not compared  blorp"));
        CHECK_FALSE(has(beside.out, "no known mistake"));
    }

    TEST_CASE("a head with large values excuses nothing in another head") {
        const Attention loud(std::sqrt(0.5), 1000);
        const Named good{{"w", loud.weights}, {"merged", loud.merged}, {"out", loud.out}};
        CHECK(diagnosed(loud, good, "").exit_code == 0);
        for (const double factor : {1.0002, 1.01, 1.05}) {
            Attention wrong = loud;
            for (std::size_t i = 0; i < wrong.merged.cells.size(); ++i) {
                if (i % features >= width) wrong.merged.cells[i] *= factor;
            }
            for (double& cell : wrong.out.cells) cell *= factor;
            const Named bad{{"w", loud.weights}, {"merged", wrong.merged}, {"out", wrong.out}};
            const auto answer = diagnosed(loud, bad, "");
            CAPTURE(answer.out);
            CHECK(answer.exit_code != 0);
            CHECK(has(answer.out, "merged: "));
        }
    }

    TEST_CASE("small numbers come with a note on what they cannot show") {
        for (const double size : {0.02, 0.002}) {
            const Attention small(std::sqrt(0.5), 1, size);
            const auto answer = diagnosed(small, {{"out", small.out}}, "");
            CHECK(answer.exit_code == 0);
            CHECK(has(answer.out, "these numbers cannot reveal: "));
            CHECK(has(answer.out, "scale-missing"));
        }
        CHECK_FALSE(has(diagnosed(right, {{"out", right.out}}, "").out, "cannot reveal"));
    }

    TEST_CASE("parameters are recognised by their form: Keras, Gemma, llm.c") {
        // (in, heads, features of a head), and (heads, in, features of a head).
        const auto turned = [](const Numbers& w, bool heads_first) {
            Numbers other{{features, heads, width}};
            if (heads_first) other.shape = {heads, features, width};
            for (std::size_t i = 0; i < w.cells.size(); ++i) {
                const std::size_t out = i / features, in = i % features;
                const std::size_t at = heads_first
                                           ? (out / width * features + in) * width + out % width
                                           : in * features + out;
                other.cells[at] = w.cells[i];
            }
            return other;
        };
        const auto output_of = [](const Numbers& w) {
            Numbers other{{heads, width, features}};
            for (std::size_t i = 0; i < w.cells.size(); ++i) {
                other.cells[i % features * features + i / features] = w.cells[i];
            }
            return other;
        };
        for (const Attention* of : {&right, &unscaled}) {
            const bool is_right = of == &right;
            Numbers both{{2, heads, features, width}}, fused{{tokens, 3 * features}};
            for (std::size_t part = 0; part < 2; ++part) {
                const Numbers one = turned(of->w[1 + part], true);
                std::ranges::copy(one.cells, both.cells.begin() + static_cast<std::ptrdiff_t>(
                                                                      part * one.cells.size()));
            }
            const std::array<const Numbers*, 3> parts{&of->q, &of->k, &of->v};
            for (std::size_t i = 0; i < fused.cells.size(); ++i) {
                const std::size_t at = i % features, token = i / (3 * features);
                fused.cells[i] = parts[i / features % 3]
                                     ->cells[(at / width * tokens + token) * width + at % width];
            }
            const Named ends{{"probs", of->weights}, {"attn_output", of->out}};
            const std::array<Named, 3> all{
                Named{{"x", of->x},
                      {"mha/query/kernel:0", turned(of->w[0], false)},
                      {"mha/key/kernel:0", turned(of->w[1], false)},
                      {"mha/value/kernel:0", turned(of->w[2], false)},
                      {"mha/attention_output/kernel:0", output_of(of->w[3])}},
                Named{{"x", of->x},
                      {"q_einsum.w", turned(of->w[0], true)},
                      {"kv_einsum.w", both},
                      {"attn_vec_einsum.w", output_of(of->w[3])}},
                Named{{"inp", fused}, {"att", of->weights}, {"out", of->merged}}};
            for (Named named : all) {
                if (named.front().first == "x") named.insert(named.end(), ends.begin(), ends.end());
                const auto answer = diagnosed_alone(named);
                CAPTURE(named[1].first);
                CAPTURE(answer.out + answer.err);
                CHECK(answer.exit_code == (is_right ? 0 : 1));
                CHECK(has(answer.out, is_right ? "right: " : "scale-missing"));
            }
        }
    }

    TEST_CASE("code is not accused if its parameters, or most of its tensors, are not read") {
        const Named start{{"x", right.x}}, ends{{"attn", right.weights}, {"ctx", right.sum}};
        const auto with = [&](const Named& more) {
            Named all = start;
            all.insert(all.end(), more.begin(), more.end());
            all.insert(all.end(), ends.begin(), ends.end());
            return diagnosed_alone(all);
        };
        const auto odd = with({{"enc.alpha.weight", right.w[0]}, {"enc.beta.weight", right.w[1]}});
        CHECK(odd.exit_code == 3);
        CHECK(has(odd.out, "these look like parameters and are not used: enc.alpha.weight"));
        CHECK(has(odd.out, "--map"));
        CHECK_FALSE(has(odd.out, "DIFF"));
        const auto none = with({});
        CHECK(none.exit_code == 3);
        CHECK(has(none.out, "nothing computes query, key and value from your x"));
        CHECK_FALSE(has(none.out, "DIFF"));
        const auto most = diagnosed(right, {{"attn", made({heads, tokens, tokens}, 0.9)},
                                            {"foo", made({3}, 0.1)},
                                            {"bar", made({5}, 0.2)},
                                            {"zap", made({7}, 0.4)}});
        CHECK(most.exit_code == 3);
        CHECK(has(most.out, "are not used"));
        CHECK_FALSE(has(most.out, "no known mistake"));
    }

    TEST_CASE("acc may be divided in place, and values may be the sum next to a v") {
        Numbers divided = right.merged;
        CHECK(diagnosed(right, {{"acc", divided}, {"out", right.out}}).exit_code == 0);
        CHECK(diagnosed(right, {{"v", right.v}, {"values", right.merged}, {"o", right.out}})
                  .exit_code == 0);
        const auto bad = diagnosed(unscaled, {{"v", unscaled.v}, {"values", unscaled.merged}});
        CHECK(has(bad.out, "scale-missing"));
        CHECK_FALSE(has(bad.out, "no known mistake"));
    }

    TEST_CASE("tensors saved one per head are stacked") {
        const Named each{{"q.0", head_of(right.q, 0)},
                         {"q.1", head_of(right.q, 1)},
                         {"w_head1", head_of(right.weights, 0)},
                         {"w_head2", head_of(right.weights, 1)},
                         {"out", right.out}};
        const auto good = diagnosed(right, each);
        CHECK(good.exit_code == 0);
        CHECK(has(good.out, "weights"));
        const Named wrong{{"w_head0", head_of(unscaled.weights, 0)},
                          {"w_head1", head_of(unscaled.weights, 1)}};
        CHECK(has(diagnosed(unscaled, wrong).out, "weights: scale-missing"));
    }
}
