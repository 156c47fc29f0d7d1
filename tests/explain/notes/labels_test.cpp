#include "attn/explain/notes/labels.hpp"

#include "attn/ground/text/strings.hpp"
#include "tests/explain/notes/small_walks.hpp"

using namespace attn;
using namespace attn::notes;
using namespace attn::testing;

namespace {

/// The weights of a walk, with the names of its rows and columns.
struct NamedWeights {
    Plan plan;
    StepTable table = step_table();
    Ledger ledger{};
    Tensor tensor{};
    Excerpt excerpt{};

    explicit NamedWeights(const WalkConfig& config) : plan(resolve(config)) {
        tensor = {plan.per_head_axes("query", "key"),
                  Array<double>::filled(plan.per_head_shape(plan.query_len, plan.key_len), 0)};
    }
    operator Subject() const {
        return {{plan, table, find_step(table, "weights")}, ledger, tensor, excerpt};
    }
};

}  // namespace

TEST_SUITE("notes: labels") {
    TEST_CASE("a query is called by its word, its id or its position") {
        const NamedWeights words(words_config({{1, 2, 1}}));
        CHECK(row_label(words, 1) == "'green'");
        CHECK(row_label(words, 2) == "'red' (position 2)");
        CHECK(seen_label(words, 2, 2) == "itself");
        CHECK(seen_label(words, 2, 0) == "'red' (position 0)");
        WalkConfig config = words_config({{1, 2}});
        std::get<Tokens>(config.input).vocabulary = {};
        CHECK(row_label(NamedWeights(config), 1) == "id 2");
        CHECK(row_label(NamedWeights(positions_config(3)), 2) == "position 2");
    }

    TEST_CASE("the words of a sequence are its own") {
        const NamedWeights words(words_config({{1, 2}, {3, 2}}));
        CHECK(row_label(words, 0, 0) == "'red'");
        CHECK(row_label(words, 0, 1) == "'blue'");
    }

    TEST_CASE("keys of a memory without words are named by their positions") {
        WalkConfig config = words_config({{1, 2}});
        config.memory = RandomInput{};
        config.key_len = 3;
        const NamedWeights words(config);
        CHECK(column_label(words, 1) == "memory position 1");
        CHECK(seen_label(words, 1, 1) == "memory position 1");
    }

    TEST_CASE("a word is cut at 20 characters, as a reader counts them") {
        CHECK(quoted_token("twenty characters ok") == "'twenty characters ok'");
        CHECK(quoted_token("twenty-one characters") == "'twenty-one characte…'");
        // e and a combining accent are one character.
        std::string accents;
        for (int i = 0; i < 20; ++i) accents += "e\u0301";
        CHECK(quoted_token(accents) == "'" + accents + "'");
    }

    TEST_CASE("right-to-left text and control characters do not disturb the sentence around them") {
        CHECK(quoted_token("a\nb") == "'a\\nb'");
        CHECK(quoted_token("a\xff") == "'a\\xff'");
        CHECK(quoted_token("\u05D0\u05D1") == "'\u2068\u05D0\u05D1\u2069'");
    }

    TEST_CASE(
        "numbers in notes are written as the tensors print them, whole and extreme ones short") {
        CHECK(number(2) == "2");
        CHECK(number(-0.0) == "0");
        CHECK(number(0.25) == "0.2500");
        CHECK(number(-1.5) == "-1.5000");
        CHECK(number(0.00012346) == "0.0001235");
        CHECK(number(1234567.5) == "1.235e+06");
        CHECK(number(NAN) == "nan");
        CHECK(number(-infinity) == "-inf");
    }

    TEST_CASE("counts and ranges have a plural") {
        CHECK(counted(1, "key") == "1 key");
        CHECK(counted(0, "key") == "0 keys");
        CHECK(numbered("feature", 3, 1) == "feature 3");
        CHECK(numbered("feature", 3, 2) == "features 3 to 4");
        CHECK(capitalised("position 2") == "Position 2");
        CHECK(capitalised("'red'") == "'red'");
    }
}
