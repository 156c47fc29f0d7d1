#include <doctest/doctest.h>

#include <string>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/explain/document/document.hpp"

using namespace attn;

namespace {

std::string counts_of(const std::string& settings) {
    const Plan plan = resolve(configured(settings));
    return counts_text(plan, step_table(plan));
}

}  // namespace

TEST_SUITE("document: counts") {
    TEST_CASE("parameters, products and cache of a plain walk follow from its sizes") {
        // 5 tokens of 6 features, one head: 3 matrices of 36, 25 pairs of 6 features.
        CHECK(counts_of("seq-len 5, embed-dim 6") ==
              "108 parameters: w_query 36, w_key 36, w_value 36\n"
              "840 products: query 180, key 180, value 180, scores 150, context 150\n"
              "60 numbers in a cache: key 30, value 30\n");
    }
    TEST_CASE("shared heads keep fewer keys and have smaller matrices, with as many scores") {
        const std::string counts = counts_of("seq-len 10, embed-dim 16, heads 4, kv-heads 2");
        CHECK(counts.find("512 parameters: w_query 256, w_key 128, w_value 128\n") == 0);
        CHECK(counts.find("scores 1,600, context 1,600\n") != counts.npos);
        CHECK(counts.find("160 numbers in a cache: key 80, value 80\n") != counts.npos);
    }
    TEST_CASE("a batch counts its products and its cache for each sequence") {
        const std::string counts = counts_of("seq-len 5, embed-dim 6, batch 3");
        CHECK(counts.find("108 parameters") == 0);
        CHECK(counts.find("2,520 products") != counts.npos);
        CHECK(counts.find("180 numbers in a cache") != counts.npos);
    }
}
