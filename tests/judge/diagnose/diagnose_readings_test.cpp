// All tensors read together: the reading that needs the fewest and smallest findings.
#include <doctest/doctest.h>

#include <cmath>

#include "attn/core/settings/settings.hpp"
#include "attn/ground/tensor/sixteen_bits.hpp"
#include "attn/judge/diagnose/replay.hpp"
#include "tests/judge/diagnose/diagnosed.hpp"

using namespace attn;
using attn::testing::causal_config;
using attn::testing::is_named;

namespace {

template <class F>
Tensor changed(const Tensor& tensor, F&& f) {
    Array<float> cells = tensor.as<float>();
    for (float& cell : cells) cell = static_cast<float>(f(cell));
    return {tensor.axes(), std::move(cells)};
}

Tensor shaped(const Tensor& tensor, const Shape& shape) {
    Array<float> cells = empty_array<float>(shape);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        cells.data()[i] = i < tensor.size() ? static_cast<float>(tensor.at(i)) : 0.0F;
    }
    return {Axes(shape.size(), "axis"), std::move(cells)};
}

/// A walk, right and with a mistake, whose tensors a user saves under other names.
struct UserCode {
    Plan plan;
    Ledger given = draw(plan);
    Ledger right = walk(plan, given);
    Ledger wrong = right;
    Ledger actual{};

    explicit UserCode(const WalkConfig& config, const char* id = nullptr) : plan(resolve(config)) {
        if (id) wrong = walk(plan, given, find_mistake(id).apply(step_table(plan), plan));
    }
    Diagnosis diagnosis() const { return diagnose(plan, given, actual); }
};

WalkConfig rotating_config() {
    WalkConfig config = causal_config();
    config.head_dim = 4;
    config.rotary.pairing = Pairing::half;
    return config;
}

bool has_remark(const Diagnosis& diagnosis, const std::string& words) {
    return std::ranges::any_of(diagnosis.remarks, [&](const std::string& remark) {
        return remark.find(words) != std::string::npos;
    });
}

}  // namespace

TEST_SUITE("diagnose: one reading of all tensors") {
    TEST_CASE(
        "values written into scores are masked scores if that explains everything with one "
        "mistake") {
        for (const char* id : {"mask-added-bool=hidden", "mask-sign=1e9", "mask-added=-2.5"}) {
            UserCode code(causal_config(), id);
            code.actual.record("scores", code.wrong["masked_scores"]);
            code.actual.record("attn", code.wrong["weights"]);
            const Diagnosis found = code.diagnosis();
            REQUIRE_MESSAGE(found.findings.size() == 1, diagnosis_text(found));
            CHECK_MESSAGE(is_named(found.findings[0], id), diagnosis_text(found));
        }
    }

    TEST_CASE("a scaled query is half of scaling twice") {
        UserCode code(causal_config(), "scale-twice");
        code.actual.record(
            "q", changed(code.right["query"], [](float x) { return x / std::sqrt(3.0F); }));
        code.actual.record("k", code.right["key"]);
        code.actual.record("attn", code.wrong["weights"]);
        const Diagnosis found = code.diagnosis();
        REQUIRE_MESSAGE(!found.findings.empty(), diagnosis_text(found));
        for (const Finding& each : found.findings) {
            CHECK_MESSAGE((each.harmless || is_named(each, "scale-twice")), diagnosis_text(found));
        }
    }

    TEST_CASE("numbers are inferred from the weights and from the result") {
        for (const char* id : {"scale-other=3", "scale-other=0.4", "mask-added=-3",
                               "mask-fill-too-small=-6", "rope-theta=700", "rope-offset=3",
                               "weights-factor=0.9", "key-hidden=2", "key-lost=1"}) {
            UserCode code(rotating_config(), id);
            for (const char* step : {"weights", "merged"}) {
                code.actual = Ledger();
                code.actual.record(step, code.wrong[step]);
                const Diagnosis found = code.diagnosis();
                REQUIRE_MESSAGE(found.findings.size() == 1, diagnosis_text(found));
                CHECK_MESSAGE(is_named(found.findings[0], id), diagnosis_text(found));
            }
        }
    }

    TEST_CASE("right weights distinguish a factor on the context from one on the weights") {
        UserCode code(causal_config(), "context-factor=1.02");
        for (const char* step : {"weights", "context"}) code.actual.record(step, code.wrong[step]);
        const Diagnosis found = code.diagnosis();
        REQUIRE_MESSAGE(found.findings.size() == 1, diagnosis_text(found));
        CHECK_MESSAGE(is_named(found.findings[0], "context-factor=1.02"), diagnosis_text(found));
    }

    TEST_CASE("another scale within the rounding of bfloat16 is named, from the result alone") {
        WalkConfig config = causal_config();
        config.projection = Projection::none;
        config.dtype = DType::bfloat16;
        for (const double factor : {0.9, 1.0, 1.1}) {
            CAPTURE(factor);
            config.scale = {ScaleChoice::By::number, factor / std::sqrt(3.0)};
            const Plan actual = resolve(config);
            const Ledger given = draw(actual);
            Ledger computed;
            computed.record("context", walk(actual, given)["context"]);
            config.scale = WalkConfig().scale;
            const Diagnosis found = diagnose(resolve(config), given, computed);
            CHECK(found.findings.size() == (factor == 1.0 ? 0 : 1));
            for (const Finding& each : found.findings) {
                REQUIRE(each.mistake() != nullptr);
                CHECK(each.mistake()->id.starts_with("scale-other="));
                CHECK_FALSE(each.harmless);
            }
        }
    }

    TEST_CASE("in 16 bits a factor on large weights is not called invisible") {
        WalkConfig config = causal_config();
        config.scale = {ScaleChoice::By::number, 40};
        UserCode code(config, "weights-factor=0.9");
        const auto found = [&](const Ledger& of) {
            code.actual = Ledger();
            for (const char* step : {"query", "key", "value", "scaled_scores", "weights"}) {
                const auto stored = [](float x) { return nearest(x, DType::bfloat16); };
                code.actual.record(step, changed(of[step], stored));
            }
            return code.diagnosis();
        };
        CHECK_MESSAGE(found(code.right).findings.empty(), diagnosis_text(found(code.right)));
        CHECK(found(code.right).open.empty());
        CHECK_MESSAGE(found(code.wrong).has_mistake(), diagnosis_text(found(code.wrong)));
    }

    TEST_CASE("scores in units of log2, with all their digits, are right next to right weights") {
        UserCode code(causal_config());
        code.actual.record(
            "qk", changed(code.right["masked_scores"], [](float x) { return x * 1.44269504F; }));
        code.actual.record("p", code.right["weights"]);
        const Diagnosis found = code.diagnosis();
        CHECK_MESSAGE(found.findings.empty(), diagnosis_text(found));
    }

    TEST_CASE("merged heads under the name of a result raise a question, not an accusation") {
        WalkConfig config = causal_config();
        config.output_projection = true;
        UserCode code(config, "mask-times-zero");
        code.actual.record("O", code.right["merged"]);
        const Diagnosis right = code.diagnosis();
        CHECK_MESSAGE((right.open.size() == 1 && !right.has_mistake()), diagnosis_text(right));
        CHECK(is_named(right.findings.at(0), "no-output-projection"));
        code.actual = Ledger();
        code.actual.record("O", code.wrong["merged"]);
        const Diagnosis wrong = code.diagnosis();
        REQUIRE_MESSAGE(wrong.findings.size() == 1, diagnosis_text(wrong));
        CHECK(is_named(wrong.findings[0], "mask-times-zero"));
    }

    TEST_CASE("the keys of a window alone are read as those of the whole row") {
        WalkConfig config = causal_config();
        config.mask.window = 3;
        for (const char* id : {"", "window-off-by-one=few"}) {
            UserCode code(config, *id ? id : nullptr);
            const Tensor& weights = code.wrong["weights"];
            Array<float> band = empty_array<float>({3, 2, 5, 3});
            for (std::size_t i = 0; i < band.size(); ++i) {
                const std::size_t row = i / 3, key = row % 5 + i % 3;
                band.data()[i] = key < 2 ? 0 : static_cast<float>(weights.at(row * 5 + key - 2));
            }
            code.actual.record("attn", {{"b", "h", "q", "k"}, std::move(band)});
            const Diagnosis found = code.diagnosis();
            REQUIRE_MESSAGE(found.findings.size() == (*id ? 1 : 0), diagnosis_text(found));
            if (*id) CHECK(is_named(found.findings[0], id));
        }
    }

    TEST_CASE("a query and key rotated in an unknown way are not called unrotated") {
        UserCode code(rotating_config());
        const auto turned = [&](const char* step) {
            return changed(code.right[step], [](float x) { return std::tanh(3 * x); });
        };
        Replay replay(code.plan, code.given);
        replay.take("rotated_query", turned("rotated_query"));
        replay.take("rotated_key", turned("rotated_key"));
        code.actual.record("q", turned("rotated_query"));
        code.actual.record("k", turned("rotated_key"));
        code.actual.record("attn", *replay.step("weights"));
        const Diagnosis found = code.diagnosis();
        REQUIRE_MESSAGE(found.findings.size() == 2, diagnosis_text(found));
        CHECK(found.findings[0].step == "rotated_query");
        CHECK(found.findings[0].mistake() == nullptr);
        CHECK(found.findings[1].step == "rotated_key");
        CHECK(found.findings[1].mistake() == nullptr);
    }

    TEST_CASE("angles with any origin are right next to right weights, from all saved steps") {
        for (const double first : {1.0, 5.0}) {
            UserCode code(rotating_config());
            const std::size_t pairs = code.right["angles"].shape().back();
            Array<float> angles = code.right["angles"].as<float>();
            for (std::size_t i = 0; i < angles.size(); ++i) {
                angles.data()[i] += static_cast<float>(first) * angles.data()[pairs + i % pairs];
            }
            const Tensor actual(code.right["angles"].axes(), angles);
            code.actual.record("attn", code.right["weights"]);
            code.actual.record("freqs", actual);
            CHECK_MESSAGE(!code.diagnosis().has_unknown(), first);
            code.actual.record("cos", changed(actual, [](float x) { return std::cos(x); }));
            code.actual.record("sin", changed(actual, [](float x) { return std::sin(x); }));
            const Diagnosis found = code.diagnosis();
            CHECK_MESSAGE((!found.has_unknown() && !found.has_mistake()), diagnosis_text(found));
        }
    }

    TEST_CASE("distances to later keys show if a mask lets these through") {
        WalkConfig config = causal_config();
        config.position_bias = PositionBias{};
        for (const char* id : {"causal-diag-plus1", "mask-not-applied", "causal-triu"}) {
            UserCode code(config, id);
            const StepTable table =
                find_mistake("alibi-key-form").apply(step_table(code.plan), code.plan);
            const Ledger wrong =
                walk(code.plan, code.given, find_mistake(id).apply(table, code.plan));
            code.actual.record("y", wrong["merged"]);
            const Diagnosis found = code.diagnosis();
            REQUIRE_MESSAGE(found.findings.size() == 1, diagnosis_text(found));
            CHECK_MESSAGE(is_named(found.findings[0], id), diagnosis_text(found));
        }
    }

    TEST_CASE("numbers of few digits are right; numbers that are all slightly too large are not") {
        UserCode code(causal_config());
        const auto rounded = [](float x) {
            int exponent = 0;
            const float part = std::frexp(x, &exponent);
            return std::ldexp(std::round(part * 2048) / 2048 * (1 + 3e-5F), exponent);
        };
        for (const char* step : {"query", "key", "weights", "merged"}) {
            code.actual.record(step, changed(code.right[step], rounded));
        }
        const Diagnosis found = code.diagnosis();
        CHECK_MESSAGE(found.findings.empty(), diagnosis_text(found));
        CHECK(has_remark(found, "right to 3 digits"));
        code.actual = Ledger();
        code.actual.record("merged",
                           changed(code.right["merged"], [](float x) { return 1.001F * x; }));
        CHECK(names(code.diagnosis(), find_mistake("weights-factor=1.001")));
    }

    TEST_CASE("numbers with 4 decimals are compared to 4 decimals") {
        UserCode code(causal_config(), "softmax-axis=query");
        for (const char* step : {"query", "key", "weights"}) {
            code.actual.record(step, changed(code.wrong[step],
                                             [](float x) { return std::round(x * 1e4F) / 1e4F; }));
        }
        const Diagnosis found = code.diagnosis();
        REQUIRE_MESSAGE(found.findings.size() == 1, diagnosis_text(found));
        CHECK(is_named(found.findings[0], "softmax-axis=query"));
        CHECK(has_remark(found, "4 decimals"));
    }

    TEST_CASE("parts, slots, columns and copies next to the right numbers are removed") {
        WalkConfig config = rotating_config();
        configure(config, "heads 4, kv-heads 2, past 3");
        UserCode code(config);
        const Ledger& right = code.right;
        code.actual.record("attn", shaped(right["weights"], {3, 2, 2, 5, 8}));
        const Tensor& cos = right["cos"];
        Array<float> twice = empty_array<float>({1, 5, 4});
        for (std::size_t i = 0; i < twice.size(); ++i) {
            twice.data()[i] = static_cast<float>(cos.at(i / 4 * 2 + i % 2));
        }
        code.actual.record("cos", {{"one", "token", "feature"}, twice});
        const Tensor& keys = right["present_key"];
        Array<float> slots = empty_array<float>({3, 2, 16, 4});
        for (std::size_t i = 0; i < slots.size(); ++i) {
            const std::size_t slot = i / 4 % 16;
            slots.data()[i] =
                slot < 8 ? static_cast<float>(keys.at((i / 64 * 8 + slot) * 4 + i % 4)) : 0.0F;
        }
        code.actual.record("k_cache", {{"b", "h", "slot", "d"}, slots});
        const Diagnosis found = code.diagnosis();
        CHECK_MESSAGE(found.findings.empty(), diagnosis_text(found));
        CHECK_MESSAGE(found.skipped.empty(), diagnosis_text(found));
    }

    TEST_CASE("unmasked slots of a static cache are counted, with or without their columns") {
        WalkConfig config = causal_config();
        config.past = 3;
        for (const bool keeps_columns : {false, true}) {
            UserCode code(config, "cache-empty-slot=5");
            const Tensor& weights = code.wrong["weights"];
            Array<float> wide = empty_array<float>({3, 2, 5, 13});
            for (std::size_t row = 0; row < weights.size() / 8; ++row) {
                double rest = 1;
                for (std::size_t k = 0; k < 8; ++k) {
                    rest -= weights.at(row * 8 + k);
                    wide.data()[row * 13 + k] = static_cast<float>(weights.at(row * 8 + k));
                }
                std::fill_n(wide.data() + row * 13 + 8, 5, static_cast<float>(rest / 5));
            }
            code.actual.record("attn",
                               keeps_columns ? Tensor({"b", "h", "q", "k"}, wide) : weights);
            const Diagnosis found = code.diagnosis();
            REQUIRE_MESSAGE(found.findings.size() == 1, diagnosis_text(found));
            CHECK_MESSAGE(is_named(found.findings[0], "cache-empty-slot=5"), diagnosis_text(found));
        }
    }

    TEST_CASE("a tensor with one column too many for weights is a result") {
        UserCode code(causal_config(), "scale-dmodel");
        REQUIRE(code.wrong["merged"].shape() == Shape{3, 5, 6});
        code.actual.record("w", code.wrong["merged"]);
        const Diagnosis found = code.diagnosis();
        REQUIRE_MESSAGE(found.findings.size() == 1, diagnosis_text(found));
        CHECK_MESSAGE(is_named(found.findings[0], "scale-dmodel"), diagnosis_text(found));
    }

    TEST_CASE("an offset with the wrong sign is inferred from the masked scores") {
        UserCode code(causal_config());
        Replay replay(code.plan, code.given);
        replay.make(find_mistake("mask-added=10000"));
        code.actual.record("attention_scores", *replay.step("masked_scores"));
        code.actual.record("attention_probs", *replay.step("weights"));
        const Diagnosis found = code.diagnosis();
        REQUIRE_MESSAGE(found.findings.size() == 1, diagnosis_text(found));
        CHECK_MESSAGE(is_named(found.findings[0], "mask-added=1e4"), diagnosis_text(found));
    }

    TEST_CASE("a mistake is named if the mask came before the scale, with any fill value") {
        UserCode code(causal_config(), "causal-diag-minus1");
        Tensor scores = code.wrong["scores"];
        Array<float> filled = scores.as<float>();
        for (std::size_t i = 0; i < filled.size(); ++i) {
            if (i % 5 >= i / 5 % 5) filled.data()[i] = -1e9F;
        }
        code.actual.record("attn_scores", Tensor(scores.axes(), filled));
        const Diagnosis found = code.diagnosis();
        REQUIRE_MESSAGE(found.findings.size() == 1, diagnosis_text(found));
        CHECK_MESSAGE(is_named(found.findings[0], "causal-diag-minus1"), diagnosis_text(found));
    }

    TEST_CASE("one sample of several is enough") {
        UserCode code(causal_config(), "scale-missing");
        for (const auto& [name, step] :
             {std::pair("q", "query"), {"att", "weights"}, {"y", "merged"}}) {
            Shape shape = code.wrong[step].shape();
            shape.front() = 1;
            code.actual.record(name, shaped(code.wrong[step], shape));
        }
        const Diagnosis found = code.diagnosis();
        REQUIRE_MESSAGE(found.findings.size() == 1, diagnosis_text(found));
        CHECK(is_named(found.findings[0], "scale-missing"));
        CHECK(has_remark(found, "the first 1 of 3 samples"));
    }

    TEST_CASE(
        "a tensor without a known name is the step whose numbers it holds, alone the result") {
        UserCode code(causal_config(), "scale-missing");
        code.actual.record("whatever", code.wrong["merged"]);
        CHECK(is_named(code.diagnosis().findings.at(0), "scale-missing"));
        UserCode fine(causal_config());
        fine.actual.record("thing", fine.right["context"]);
        fine.actual.record("att", fine.right["weights"]);
        CHECK(fine.diagnosis().skipped.empty());
    }

    TEST_CASE("a causal mask that was not requested has a name") {
        WalkConfig config = causal_config();
        config.mask.causal = false;
        UserCode code(config);
        config.mask.causal = true;
        const Plan causal = resolve(config);
        code.actual.record("att", walk(causal, code.given)["weights"]);
        CHECK(is_named(code.diagnosis().findings.at(0), "causal-unasked"));
    }
}
