#include <doctest/doctest.h>

#include <cmath>

#include "attn/core/settings/settings.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/judge/diagnose/diagnosed.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

template <class T>
Array<T> zeros(const Shape& shape) {
    Array<T> array = empty_array<T>(shape);
    array.fill(0);
    return array;
}

}  // namespace

TEST_SUITE("explain: diagnose") {
    TEST_CASE("an overflow of exp() shows if scores are large, and is named there") {
        WalkConfig config = configured("seq-len 4, init normal, scale 100");
        const Plan plan = resolve(config);
        const Ledger given = draw(plan);
        const StepTable table = with_mistakes(step_table(plan), plan, {"softmax-overflow"});
        Ledger actual;
        const Ledger wrong = walk(plan, given, table);
        for (const char* name : {"scores", "scaled_scores", "weights", "context"}) {
            actual.record(name, wrong[name]);
        }
        CHECK(names(diagnose(plan, given, actual), find_mistake("softmax-overflow")));
    }

    TEST_CASE("two mistakes in one walk are found at their own steps") {
        const Plan plan = resolve(causal_config());
        const Ledger given = draw(plan);
        const StepTable table =
            with_mistakes(step_table(plan), plan, {"scale-missing", "weights-transposed"});
        const Diagnosis diagnosis = diagnose(plan, given, computed_steps(walk(plan, given, table)));
        REQUIRE(diagnosis.findings.size() == 2);
        CHECK(diagnosis.findings[0].mistake()->id == "scale-missing");
        CHECK(diagnosis.findings[1].mistake()->id == "weights-transposed");
        CHECK(diagnosis.has_mistake());
        const std::string text = diagnosis_text(diagnosis);
        CHECK(text.find("scaled_scores: scale-missing") != std::string::npos);
        CHECK(text.find("<- first") != std::string::npos);
    }

    TEST_CASE(
        "from the output alone, two mistakes at once are a hypothesis, and only if requested") {
        WalkConfig config = configured("seq-len 5, head-dim 3, init normal");
        const Plan plan = resolve(config);
        const Ledger given = draw(plan);
        const StepTable table =
            with_mistakes(step_table(plan), plan, {"scale-missing", "weights-transposed"});
        Ledger actual;
        actual.record("context", walk(plan, given, table)["context"]);
        CHECK(diagnose(plan, given, actual).has_unknown());
        DiagnoseOptions options;
        options.pairs = true;
        const Diagnosis diagnosis = diagnose(plan, given, actual, options);
        REQUIRE(diagnosis.findings.size() == 1);
        REQUIRE(diagnosis.findings[0].as(Role::makes).size() == 2);
        CHECK(diagnosis.findings[0].mistake()->id == "scale-missing");
        CHECK(diagnosis.findings[0].as(Role::makes)[1]->id == "weights-transposed");
    }

    TEST_CASE(
        "a difference that no mistake explains is called unknown, with the closest rejected one") {
        WalkConfig config = configured("seq-len 4");
        const Plan plan = resolve(config);
        const Ledger given = draw(plan);
        const Ledger right = walk(plan, given);
        Array<float> cells = right["context"].as<float>();
        cells(2, 1) += 0.5F;
        Ledger actual;
        actual.record("context", Tensor({"a", "b"}, cells));
        const Diagnosis diagnosis = diagnose(plan, given, actual);
        CHECK(diagnosis.has_unknown());
        CHECK_FALSE(diagnosis.has_mistake());
        CHECK(diagnosis_text(diagnosis).find("no known mistake matches") != std::string::npos);
    }

    TEST_CASE("dropout is inferred from the weights, for any probability and any cells") {
        const Plan plan = resolve(causal_config());
        const Ledger given = draw(plan);
        const Tensor right = walk(plan, given)["weights"];
        for (const std::size_t percent : {10, 25, 50}) {
            const float kept = 1 - static_cast<float>(percent) / 100;
            Array<float> cells = right.as<float>();
            for (std::size_t i = 0; i < cells.size(); ++i) {
                const bool dropped = i * 7 % 100 < percent;
                cells.data()[i] = dropped ? 0 : cells.data()[i] / kept;
            }
            Ledger actual;
            actual.record("weights", {right.axes(), cells});
            CHECK(names(diagnose(plan, given, actual), find_mistake("dropout-at-eval")));
            // With one cell scaled by another factor, this is no longer the finding.
            *std::max_element(cells.begin(), cells.end()) *= 1.01F;
            actual.record("weights", {right.axes(), cells});
            CHECK(diagnose(plan, given, actual).has_unknown());
        }
    }

    TEST_CASE("dropout needs a dropped cell and a factor above 1") {
        const Tensor right({"query", "key"}, Array<double>{{0.5, 0.5}, {0.25, 0.75}});
        const auto read = [&](const Array<double>& cells) {
            return dropout_in(Tensor({"query", "key"}, cells), right, {1e-9, 1e-9});
        };
        const auto found = read({{0.0, 1.0}, {0.5, 1.5}});
        REQUIRE(found.has_value());
        CHECK(found->dropped == 1);
        CHECK(found->factor == doctest::Approx(2));
        CHECK_FALSE(read({{1.0, 1.0}, {0.5, 1.5}}).has_value());
        CHECK_FALSE(read({{0.0, 0.5}, {0.25, 0.75}}).has_value());
        CHECK_FALSE(read({{0.0, 1.0}, {0.0, 0.0}}).has_value());
        CHECK_FALSE(read({{0.0, 0.0}, {0.0, 0.0}}).has_value());
        CHECK_FALSE(read({{0.0, NAN}, {0.5, 1.5}}).has_value());
    }

    TEST_CASE("-1e4 in place of -inf is not taken for the same number elsewhere") {
        const double hidden = -std::numeric_limits<double>::infinity();
        const Tensor right({"query", "key"}, Array<double>{{1.0, hidden}, {1.0, 2.0}});
        const Tensor actual({"query", "key"}, Array<double>{{1.0, -1e4}, {1.0, 2.0}});
        for (const std::string& sign : evidence_of("masked_scores", actual, right)) {
            CHECK(sign.find("in the wrong places") == std::string::npos);
        }
    }

    TEST_CASE("masks are compared after broadcasting, in any shape, type and polarity") {
        WalkConfig config = causal_config();
        const Plan plan = resolve(config);
        const Ledger given = draw(plan);
        const auto saved = [&](const std::string& id, bool keep, bool added, Shape shape) {
            StepTable table = step_table(plan);
            if (!id.empty()) table = find_mistake(id).apply(std::move(table), plan);
            const Ledger wrong = walk(plan, given, table);
            const Tensor& full = wrong["mask"];
            Array<float> cells = empty_array<float>(shape);
            for (std::size_t i = 0; i < cells.size(); ++i) {
                const bool hidden = full.at(i % 25) != 0;
                cells.data()[i] =
                    added ? (hidden ? -INFINITY : 0.0F) : static_cast<float>(hidden != keep);
            }
            Ledger actual;
            actual.record(
                "attn_mask",
                Tensor(shape.size() == 2 ? Axes{"a", "b"} : Axes{"a", "b", "c", "d"}, cells));
            actual.record("weights", wrong["weights"]);
            return diagnose(plan, given, actual);
        };
        for (const Shape& shape : {Shape{5, 5}, Shape{3, 1, 5, 5}, Shape{3, 2, 5, 5}}) {
            for (const bool keep : {false, true}) {
                INFO(shape.size() << " axes, keep " << keep);
                CHECK_FALSE(saved("", keep, false, shape).has_mistake());
                CHECK_FALSE(saved("", keep, false, shape).has_unknown());
                CHECK(names(saved("causal-diag-plus1", keep, false, shape),
                            find_mistake("causal-diag-plus1")));
                CHECK(names(saved("causal-triu", keep, false, shape), find_mistake("causal-triu")));
            }
            CHECK_FALSE(saved("", false, true, shape).has_unknown());
            CHECK(names(saved("causal-diag-minus1", false, true, shape),
                        find_mistake("causal-diag-minus1")));
        }
    }

    TEST_CASE("tensors of any shape and type are compared or refused, and nothing crashes") {
        const Plan plan = resolve(causal_config());
        const Ledger given = draw(plan);
        const Ledger right = walk(plan, given);
        for (const auto& [name, tensor] : right.entries()) {
            for (const Shape& shape :
                 {Shape{0}, Shape{1}, Shape{7, 3}, Shape{3, 2, 5}, Shape{2, 2}}) {
                Ledger actual = computed_steps(right);
                Axes axes;
                for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(std::to_string(i));
                actual.record(name, Tensor(axes, zeros<std::int64_t>(shape)));
                const Diagnosis found = diagnose(plan, given, actual);
                INFO(name);
                CHECK((!found.findings.empty() || !found.skipped.empty()));
            }
        }
    }

    TEST_CASE("a step after one that cannot be replayed is compared with the reference alone") {
        const Plan plan = resolve(causal_config());
        const Ledger given = draw(plan);
        Ledger actual;
        actual.record("weights", Tensor({"a", "b"}, zeros<float>({7, 3})));
        actual.record("context", walk(plan, given)["context"]);
        const Diagnosis found = diagnose(plan, given, actual);
        REQUIRE(found.steps.size() == 2);
        CHECK(found.steps[1].global == Verdict::right);
        CHECK(found.steps[1].local == Verdict::not_compared);
    }

    TEST_CASE("tensors that are no step of the walk are refused") {
        const Plan plan = resolve(WalkConfig{});
        Ledger actual;
        actual.record("loss", Tensor());
        CHECK_THROWS_AS(diagnose(plan, draw(plan), actual), ConfigError);
    }
}
