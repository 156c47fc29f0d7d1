#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "attn/learn/notebooks/notebook.hpp"
#include "attn/show/render/render.hpp"
#include "tests/support/walked.hpp"

using namespace attn;
using attn::testing::largest_difference;

namespace {

const Section& section_of(const Document& document, const std::string& name) {
    for (const Section& section : document.sections) {
        if (section.name == name) return section;
    }
    FAIL("there is no section " << name);
    return document.sections.front();
}

const Tensor& tensor_of(const Document& document, const std::string& name) {
    return std::get<Tensor>(section_of(document, name).content);
}

Document replayed(const std::string& name, bool corrected = false) {
    ReplayOptions replay;
    replay.corrected = corrected;
    return find_notebook(name).replay(replay);
}

void check_rows_sum_to_one(const Tensor& weights) {
    const std::size_t length = weights.shape().back();
    for (std::size_t row = 0; row < weights.size() / length; ++row) {
        double sum = 0;
        for (std::size_t k = 0; k < length; ++k) sum += weights.at(row * length + k);
        CHECK_MESSAGE(std::abs(sum - 1) < 1e-6, "row " << row << " sums to " << sum);
    }
}

}  // namespace

TEST_SUITE("notebook replays") {
    TEST_CASE("a notebook is found by its name and by its number") {
        CHECK(&find_notebook("003") == &find_notebook("sentence"));
        CHECK(notebooks().size() == 4);
        CHECK_THROWS_AS(find_notebook("004"), ConfigError);
    }

    TEST_CASE("every section has its own name, a title and its source lines") {
        for (const Notebook& notebook : notebooks()) {
            for (const bool corrected : {false, true}) {
                std::set<std::string> names;
                for (const Section& section : replayed(notebook.name, corrected).sections) {
                    INFO(notebook.name << " " << section.name);
                    CHECK(names.insert(section.name).second);
                    CHECK(!section.title.empty());
                    CHECK(!section.formula.empty());
                }
            }
        }
    }

    TEST_CASE("every remark on a mistake begins with its id in the catalogue") {
        for (const Notebook& notebook : notebooks()) {
            std::size_t notes = 0;
            for (const Section& section : replayed(notebook.name).sections) {
                if (section.margin.empty()) continue;
                REQUIRE(section.margin.raw()[0] == '[');
                const std::string id =
                    section.margin.raw().substr(1, section.margin.raw().find(']') - 1);
                CHECK_NOTHROW(find_mistake(id));
                ++notes;
            }
            CHECK_MESSAGE(notes > 1, notebook.name << " has " << notes << " such notes");
        }
    }

    TEST_CASE("corrected, padding gets no weight and the padded rows are twice as large") {
        const Document old = replayed("000");
        const Document corrected = replayed("000", true);
        const Tensor weights = tensor_of(corrected, "weights");
        check_rows_sum_to_one(weights);
        const Tensor on_padding = slice(weights, "0,:,:,2:");
        for (std::size_t i = 0; i < on_padding.size(); ++i) CHECK(on_padding.at(i) == 0);
        CHECK(weights.at(0) == doctest::Approx(0.5947).epsilon(1e-4));
        CHECK(weights.at(1) == doctest::Approx(0.4053).epsilon(1e-4));
        const Tensor before = slice(tensor_of(old, "merged"), "0,2");
        const Tensor after = slice(tensor_of(corrected, "merged"), "0,2");
        for (std::size_t i = 0; i < before.size(); ++i) {
            CHECK(after.at(i) == doctest::Approx(2 * before.at(i)).epsilon(1e-6));
        }
    }

    TEST_CASE("faithful, the loops give every word the sum of the values") {
        const Tensor loops = tensor_of(replayed("001"), "loop_context");
        for (std::size_t i = 20; i < loops.size(); ++i) CHECK(loops.at(i) == loops.at(i % 20));
        const Tensor corrected = tensor_of(replayed("001", true), "loop_context");
        CHECK(largest_difference(slice(corrected, "0"), slice(corrected, "1")) > 1e-5);
        CHECK(largest_difference(corrected, loops) > 1);
    }

    TEST_CASE("the running averages by loop, by triangle and by softmax agree") {
        const Document document = replayed("002");
        const Tensor& loop = tensor_of(document, "running_mean");
        CHECK(largest_difference(loop, tensor_of(document, "average_by_triangle")) < 1e-6);
        CHECK(largest_difference(loop, tensor_of(document, "average_by_softmax")) < 1e-6);
    }

    TEST_CASE("the diagonal einsum gives the first token its own value") {
        const Tensor diagonal = tensor_of(replayed("002"), "context_by_einsum");
        const Tensor corrected = tensor_of(replayed("002", true), "context_by_einsum");
        CHECK(largest_difference(slice(diagonal, ":,0"), slice(corrected, ":,0")) < 1e-6);
        CHECK(largest_difference(slice(diagonal, ":,7"), slice(corrected, ":,7")) > 1e-2);
    }

    TEST_CASE("keys times keys make symmetric scores") {
        const Tensor scores = slice(tensor_of(replayed("002"), "five_heads_scores"), "0,0");
        const Tensor corrected =
            slice(tensor_of(replayed("002", true), "five_heads_scores"), "0,0");
        double asymmetry = 0;
        double corrected_asymmetry = 0;
        for (std::size_t q = 0; q < 8; ++q) {
            for (std::size_t k = 0; k < 8; ++k) {
                asymmetry =
                    std::max(asymmetry, std::abs(scores.at(q * 8 + k) - scores.at(k * 8 + q)));
                corrected_asymmetry =
                    std::max(corrected_asymmetry,
                             std::abs(corrected.at(q * 8 + k) - corrected.at(k * 8 + q)));
            }
        }
        CHECK(asymmetry < 1e-5);
        CHECK(corrected_asymmetry > 0.1);
    }

    TEST_CASE("corrected, the first row of the sentence is the first word's vector") {
        const Document corrected = replayed("003", true);
        check_rows_sum_to_one(tensor_of(corrected, "weights"));
        check_rows_sum_to_one(tensor_of(corrected, "head_weights"));
        CHECK(largest_difference(slice(tensor_of(corrected, "weights"), "0"),
                                 tensor_of(corrected, "first_weights")) < 1e-4);
        CHECK(std::get<std::string>(section_of(corrected, "head_weights_sum").content) == "24.0");
        CHECK(std::get<std::string>(section_of(corrected, "weights_sum").content) == "8.0");
    }

    TEST_CASE("both implementations print the same sections") {
        for (const Notebook& notebook : notebooks()) {
            const Document loop = notebook.replay({{}, Variant::loop, {}, false});
            const Document arrays = notebook.replay({{}, Variant::vectorized, {}, false});
            REQUIRE(loop.sections.size() == arrays.sections.size());
            for (std::size_t i = 0; i < loop.sections.size(); ++i) {
                const auto* a = std::get_if<Tensor>(&loop.sections[i].content);
                if (a == nullptr) continue;
                const Tensor& b = std::get<Tensor>(arrays.sections[i].content);
                INFO(notebook.name << " " << loop.sections[i].name);
                double scale = 1;
                for (std::size_t c = 0; c < a->size(); ++c) {
                    if (std::isfinite(a->at(c))) scale = std::max(scale, std::abs(a->at(c)));
                }
                for (std::size_t c = 0; c < a->size(); ++c) {
                    const bool same = a->at(c) == b.at(c) ||
                                      (std::isnan(a->at(c)) && std::isnan(b.at(c))) ||
                                      std::abs(a->at(c) - b.at(c)) <= 2e-4 * scale;
                    CHECK_MESSAGE(same, "cell " << c << ": " << a->at(c) << " and " << b.at(c));
                }
            }
        }
    }

    TEST_CASE("another seed changes the numbers and no shape") {
        for (const Notebook& notebook : notebooks()) {
            const Document own = notebook.replay({});
            const Document other = notebook.replay({7, {}, {}, false});
            REQUIRE(own.sections.size() == other.sections.size());
            std::size_t changed = 0;
            for (std::size_t i = 0; i < own.sections.size(); ++i) {
                const auto* a = std::get_if<Tensor>(&own.sections[i].content);
                if (a == nullptr) continue;
                const Tensor& b = std::get<Tensor>(other.sections[i].content);
                CHECK(a->shape() == b.shape());
                changed += largest_difference(*a, b) > 1e-3 ? 1 : 0;
            }
            CHECK_MESSAGE(changed > 1, notebook.name << ": " << changed << " tensors changed");
        }
    }

    TEST_CASE("both replays are side by side if they differ, and only then") {
        const Document both = both_replays(replayed("000"), replayed("000", true));
        const Document columns = side_by_side(both, TextForm::torch, {}, 163);
        CHECK(std::get_if<Tensor>(&section_of(columns, "query").content) != nullptr);
        const std::string weights = std::get<std::string>(section_of(columns, "weights").content);
        CHECK(weights.rfind("as in the notebook", 0) == 0);
        CHECK(weights.find("tensor([[[[0.2999, 0.2044, 0.2478, 0.2478],") != std::string::npos);
        CHECK(weights.find(" | tensor([[[[0.5947, 0.4053, 0.0000") != std::string::npos);
        const Document narrow = side_by_side(both, TextForm::torch, {}, 60);
        CHECK(std::get<std::string>(section_of(narrow, "weights").content).find(" | ") ==
              std::string::npos);
    }

    TEST_CASE(
        "one after the other, the corrected replay shows only differences and runs the rest") {
        const Document faithful = replayed("000");
        const Document corrected = replayed("000", true);
        const Document both = one_after_the_other(faithful, corrected);
        REQUIRE(both.sections.size() == faithful.sections.size() + corrected.sections.size());
        std::vector<std::string> shown;
        for (std::size_t i = faithful.sections.size(); i < both.sections.size(); ++i) {
            CHECK(both.sections[i].code == corrected.sections[i - faithful.sections.size()].code);
            if (both.sections[i].shown) shown.push_back(both.sections[i].name);
        }
        CHECK(shown == std::vector<std::string>{"masked_scores_corrected", "weights_corrected",
                                                "merged_corrected", "output"});
        CHECK(section_of(both, "weights_corrected").expression == "weights");
    }
}
