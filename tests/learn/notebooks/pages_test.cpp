// The replays, compared with the printed pages number by number.
#include <doctest/doctest.h>

#include "attn/learn/notebooks/notebook.hpp"
#include "attn/show/render/numpy_text.hpp"
#include "attn/show/render/torch_text.hpp"
#include "tests/support/tokens.hpp"
#include "tests/support/vectors.hpp"

using namespace attn;
using vectors::Json;

namespace {

std::string printed(const Section& section, CodeLanguage language) {
    if (const auto* text = std::get_if<std::string>(&section.content)) return *text;
    const Tensor& tensor = std::get<Tensor>(section.content);
    return language == CodeLanguage::torch ? torch_text(tensor, {}, section.suffix)
                                           : numpy_str(tensor);
}

/// The printed sections of a notebook, without the two that the vectors leave out.
std::vector<Section> sections_of(const Notebook& notebook) {
    std::vector<Section> sections;
    for (const Section& section : notebook.replay({}).sections) {
        const bool left_out = section.name == "five_heads" || section.name == "transposed_alike";
        if (section.shown && !left_out) sections.push_back(section);
    }
    return sections;
}

std::vector<Json> cases_of(const std::string& number) {
    std::vector<Json> cases;
    const Json vectors = vectors::read("notebooks.json");
    for (const Json& one : vectors["cases"]) {
        if (one["notebook"] == number) cases.push_back(one);
    }
    return cases;
}

std::string token_text(const Json& token) {
    if (token.is_string()) return token.get<std::string>();
    return token.dump();
}

struct Agreement {
    std::size_t equal = 0;
    std::size_t one_unit = 0;
    std::size_t other = 0;
    std::vector<std::string> exceptions;
};

/// Compares every printed number of a page with ours; shapes and the dictionary as whole texts.
Agreement agreement_of(const std::string& number) {
    const Notebook& notebook = find_notebook(number);
    const std::vector<Section> sections = sections_of(notebook);
    const std::vector<Json> cases = cases_of(number);
    REQUIRE(sections.size() == cases.size());
    Agreement agreement;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        INFO(cases[i]["name"].get<std::string>() << " is " << sections[i].name);
        const std::string text = printed(sections[i], notebook.language);
        if (cases[i]["kind"] == "dict" || cases[i]["kind"] == "shape") {
            CHECK(text == cases[i]["page_text"].get<std::string>());
            continue;
        }
        const std::vector<std::string> correct = tokens::of(text);
        const Json& actual = cases[i]["page_tokens"];
        const bool cut = cases[i]["cut_by_page"].get<bool>();
        REQUIRE((cut ? correct.size() >= actual.size() : correct.size() == actual.size()));
        for (std::size_t t = 0; t < actual.size(); ++t) {
            const std::string token = token_text(actual[t]);
            switch (tokens::compare(correct[t], token)) {
                case tokens::Match::equal:
                    ++agreement.equal;
                    continue;
                case tokens::Match::one_unit:
                    ++agreement.one_unit;
                    break;
                case tokens::Match::other:
                    ++agreement.other;
                    break;
            }
            agreement.exceptions.push_back(sections[i].name + " number " + std::to_string(t) +
                                           ": " + correct[t] + " instead of " + token);
        }
    }
    return agreement;
}

/// The places where our numbers of the sentence differ from the page's. The page prints eight
/// numbers that differ between rows with the same input, which no single order of summation can
/// produce.
const std::vector<std::string> sentence_exceptions{
    "first_score_of_fifth number 0: -46.024566650390625 instead of -46.02456283569336",
    "weights number 51: 5.9746e-23 instead of 5.9747e-23",
    "context number 140: -2.0626e+00 instead of -2.0627e+00",
    "context number 169: 1.4292e-07 instead of 1.4291e-07",
    "context number 172: 9.4583e-08 instead of 9.4584e-08",
    "context number 176: 9.1718e-08 instead of 9.1717e-08",
    "head_scores number 44: 31.7685 instead of 31.7686",
    "head_scores number 101: 45.6995 instead of 45.6996",
    "head_context number 36: 7.8777e-01 instead of 7.8778e-01",
    "head_context number 47: 8.8895e-02 instead of 8.8894e-02",
    "head_context number 48: 9.8493e-02 instead of 9.8492e-02",
    "head_context number 171: -5.6394e-02 instead of -5.6395e-02",
    "head_context number 176: 7.8777e-01 instead of 7.8778e-01",
    "head_context number 187: 8.8895e-02 instead of 8.8894e-02",
    "head_context number 253: -9.0205e-01 instead of -9.0204e-01",
    "head_context number 255: 4.5434e-03 instead of 4.5435e-03",
    "head_context number 323: 5.9526e+00 instead of 5.9527e+00",
    "head_context number 341: 2.7184e-02 instead of 2.7183e-02",
    "head_context number 395: 4.5434e-03 instead of 4.5432e-03",
};

/// Every tensor and shape of the page as whole text.
void check_whole_texts(const std::string& number) {
    const Notebook& notebook = find_notebook(number);
    const std::vector<Section> sections = sections_of(notebook);
    const std::vector<Json> cases = cases_of(number);
    REQUIRE(sections.size() == cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::string page = cases[i]["page_text"].get<std::string>();
        std::string correct = printed(sections[i], notebook.language);
        if (cases[i]["cut_by_page"].get<bool>()) correct = correct.substr(0, page.size());
        INFO(cases[i]["name"].get<std::string>() << " is " << sections[i].name);
        CHECK(correct == page);
    }
}

}  // namespace

TEST_SUITE("notebook pages") {
    TEST_CASE("padding-heads prints 341 of the page's 341 numbers") {
        const Agreement agreement = agreement_of("000");
        CHECK(agreement.equal == 341);
        CHECK(agreement.one_unit + agreement.other == 0);
    }

    TEST_CASE("padding-heads prints the page's texts, spaces and autograd notes included") {
        check_whole_texts("000");
    }

    TEST_CASE("causal-heads prints 317 of the page's 317 numbers") {
        const Agreement agreement = agreement_of("002");
        CHECK(agreement.equal == 317);
        CHECK(agreement.one_unit + agreement.other == 0);
    }

    TEST_CASE("causal-heads prints the page's texts, spaces and autograd notes included") {
        check_whole_texts("002");
    }

    TEST_CASE("sentence prints 1445 of the page's 1464 numbers, and 17 more to within one unit") {
        const Agreement agreement = agreement_of("003");
        CHECK(agreement.exceptions == sentence_exceptions);
        CHECK(agreement.equal == 1445);
        CHECK(agreement.one_unit == 17);
        CHECK(agreement.other == 2);
    }

    TEST_CASE("numpy-loops prints the page's shapes and ones, and arrays in its layout") {
        const std::vector<Section> sections = sections_of(find_notebook("001"));
        const std::vector<Json> cases = cases_of("001");
        REQUIRE(sections.size() == cases.size());
        for (std::size_t i = 0; i < cases.size(); ++i) {
            INFO(cases[i]["name"].get<std::string>() << " is " << sections[i].name);
            const std::string page = cases[i]["page_text"].get<std::string>();
            const std::string correct = printed(sections[i], CodeLanguage::numpy);
            const bool unseeded = sections[i].name == "scores" || sections[i].name == "context";
            if (unseeded) {
                const Tensor& tensor = std::get<Tensor>(sections[i].content);
                CHECK(tensor.size() == cases[i]["page_tokens"].size());
                CHECK(tensor.dtype() == DType::float64);
            } else {
                CHECK(correct == page);
            }
        }
    }

    TEST_CASE("the three arrays of numpy-loops are printed from the published values") {
        std::size_t arrays = 0;
        for (const Json& one : cases_of("001")) {
            if (one["kind"] != "ndarray") continue;
            const std::vector<std::string> values = tokens::of(one["page_text"].get<std::string>());
            const bool row = values.size() == 20;
            Array<double> array = empty_array<double>(row ? Shape{1, 20} : Shape{values.size(), 1});
            for (std::size_t i = 0; i < values.size(); ++i) {
                array.data()[i] = std::strtod(values[i].c_str(), nullptr);
            }
            CHECK(numpy_str(Tensor({"row", "column"}, array)) ==
                  one["page_text"].get<std::string>());
            ++arrays;
        }
        CHECK(arrays == 3);
    }
}
