#include <regex>

#include "tests/explain/notes/small_walks.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

const Array<double> two_thirds{{0.5, 0.25, 0.25}, {0.125, 0.75, 0.125}, {0.25, 0.125, 0.625}};

WalkConfig heads_config() {
    WalkConfig config = words_config();
    config.heads = 2;
    return config;
}

}  // namespace

TEST_SUITE("notes: weights") {
    TEST_CASE("the note names who attends most to whom, and the even share") {
        const std::string note = note_of(words_config(), {{"weights", matrix(two_thirds)}});
        CHECK(note ==
              "Each row sums to 1: it shows how a query divides its attention among the keys. The "
              "largest weight is 0.7500: 'green' attends "
              "most to itself (an even share would be 0.3333).");
        const std::string other = note_of(
            words_config(),
            {{"weights", matrix({{0.5, 0.25, 0.25}, {0.125, 0.0625, 0.8125}, {0.5, 0.25, 0.25}})}});
        CHECK_SAYS(other, "'green' attends most to 'blue'");
    }

    TEST_CASE("without words positions are named") {
        const std::string note = note_of(
            positions_config(3),
            {{"weights", matrix({{0.5, 0.25, 0.25}, {0.9, 0.05, 0.05}, {0.5, 0.25, 0.25}})}});
        CHECK_SAYS(note, "position 1 attends most to position 0");
    }

    TEST_CASE("a word that occurs twice is named with its position") {
        const std::string note =
            note_of(words_config({{1, 2, 1}}), {{"weights", matrix(two_thirds)}});
        CHECK_SAYS(note, "'green' attends most to itself");
        const std::string twice =
            note_of(words_config({{1, 2, 1}}),
                    {{"weights", matrix({{0.1, 0.1, 0.8}, {0.25, 0.5, 0.25}, {0.25, 0.25, 0.5}})}});
        CHECK_SAYS(twice, "'red' (position 0) attends most to 'red' (position 2)");
    }

    TEST_CASE("keys that share the largest weight are counted") {
        const std::string note =
            note_of(words_config(),
                    {{"weights", matrix({{0.45, 0.45, 0.1}, {0.5, 0.25, 0.25}, {0.4, 0.4, 0.2}})}});
        CHECK_SAYS(note, "'green' attends most to 'red' (an even");
        const std::string tie =
            note_of(words_config(),
                    {{"weights", matrix({{0.45, 0.45, 0.1}, {0.4, 0.35, 0.25}, {0.4, 0.4, 0.2}})}});
        CHECK_SAYS(tie,
                   "The largest weight is 0.4500: 'red' attends most to itself and equally to "
                   "1 other");
    }

    TEST_CASE("a row of equal weights is even, and the note says why") {
        const double third = 1.0 / 3;
        const Tensor weights = matrix({{third, third, third}, {0.5, 0.25, 0.25}, {0.5, 0.3, 0.2}});
        CHECK_SAYS(
            note_of(words_config(), {{"weights", weights}}),
            "'red' attends to its 3 keys evenly, 0.3333 each: the scores it sees are equal.");
        const Tensor query({"query", "feature"}, Array<double>{{0, 0}, {1, 2}, {3, 4}});
        CHECK_SAYS(note_of(words_config(), {{"query", query}, {"weights", weights}}),
                   "0.3333 each: a zero query scores 0 with every key.");
        const Tensor even =
            matrix({{third, third, third}, {0.5, 0.25, 0.25}, {third, third, third}});
        CHECK_SAYS(note_of(words_config(), {{"weights", even}}),
                   "'red' and 1 other attend evenly to all keys they see");
    }

    TEST_CASE("an even row counts the visible keys, not the hidden ones") {
        const Tensor scores = matrix({{2, 2, -infinity}, {1, 2, 3}, {1, 2, 3}});
        const Tensor weights = matrix({{0.5, 0.5, 0}, {0.2, 0.3, 0.5}, {0.2, 0.3, 0.5}});
        CHECK_SAYS(note_of(words_config(), {{"scores", scores}, {"weights", weights}}),
                   "'red' attends to its 2 keys evenly, 0.5000 each");
    }

    TEST_CASE("a query that sees a single key gives it weight 1") {
        const Tensor scores = matrix({{3, -infinity, -infinity}, {1, 1.5, -infinity}, {1, 2, 3}});
        const Tensor weights = matrix({{1, 0, 0}, {0.25, 0.75, 0}, {0.2, 0.3, 0.5}});
        const std::string note =
            note_of(words_config(), {{"masked_scores", scores}, {"weights", weights}});
        CHECK_SAYS(note, "'red' sees only itself, so that weight is 1.");
        CHECK_SAYS(note,
                   "Among queries with a choice, the largest weight is 0.7500: 'green' attends "
                   "most to itself (an even share would be 0.5000).");
        const Tensor alone =
            matrix({{3, -infinity, -infinity}, {1, -infinity, -infinity}, {1, 2, 3}});
        const Tensor ones = matrix({{1, 0, 0}, {1, 0, 0}, {0.2, 0.3, 0.5}});
        CHECK_SAYS(note_of(words_config(), {{"masked_scores", alone}, {"weights", ones}}),
                   "'red' and 1 other see a single key each: that weight is 1.");
    }

    TEST_CASE("a row that sees no key is nan, or 0 as asked, and the note says which") {
        const Tensor scores = matrix({{-infinity, -infinity, -infinity}, {1, 2, 3}, {1, 2, 3}});
        const Tensor nan = matrix({{NAN, NAN, NAN}, {0.2, 0.3, 0.5}, {0.2, 0.3, 0.5}});
        CHECK_SAYS(note_of(words_config(), {{"masked_scores", scores}, {"weights", nan}}),
                   "'red' sees no key: softmax divides 0 by 0, which is nan.");
        const Tensor zero = matrix({{0, 0, 0}, {0.2, 0.3, 0.5}, {0.2, 0.3, 0.5}});
        const std::string note =
            note_of(words_config(), {{"masked_scores", scores}, {"weights", zero}});
        CHECK_SAYS(note, "'red' sees no key: such a row is 0, as set.");
        CHECK_SAYS(note,
                   "Each row that sees a key sums to 1: it shows how a query divides its attention "
                   "among the keys.");
    }

    TEST_CASE("nan from nan scores is distinguished from nan of a fully masked row") {
        const Tensor scores = matrix({{1, 2, 3}, {NAN, 2, 3}, {1, 2, 3}});
        const Tensor weights = matrix({{0.2, 0.3, 0.5}, {NAN, NAN, NAN}, {0.2, 0.3, 0.5}});
        const std::string note =
            note_of(words_config(), {{"scores", scores}, {"weights", weights}});
        CHECK_SAYS(note,
                   "The weights of 'green' are nan, because a score there is nan or infinite.");
        CHECK_SILENT(note, "no key");
    }

    TEST_CASE("rows that do not sum to 1 are named with their sum") {
        const Tensor weights = matrix({{0.5, 0.25, 0.25}, {0.25, 0.25, 0}, {0.5, 0.25, 0.25}});
        const std::string note = note_of(words_config(), {{"weights", weights}});
        CHECK_SAYS(note, "The rows do not sum to 1 here: that of 'green' sums to 0.5000.");
        CHECK_SILENT(note, "divides its attention");
    }

    TEST_CASE("a row of zeros that sees nothing is not an example of a wrong sum") {
        const Tensor scores = matrix({{-infinity, -infinity, -infinity}, {1, 2, 3}, {1, 2, 3}});
        const Tensor weights = matrix({{0, 0, 0}, {0.25, 0.25, 0}, {0.5, 0.25, 0.25}});
        CHECK_SAYS(note_of(words_config(), {{"masked_scores", scores}, {"weights", weights}}),
                   "that of 'green' sums to 0.5000");
    }

    TEST_CASE("the first head is described, and a larger weight elsewhere is mentioned") {
        const Tensor weights =
            by_head({{{0.5, 0.25, 0.25}, {0.125, 0.75, 0.125}, {0.5, 0.25, 0.25}},
                     {{0.5, 0.25, 0.25}, {0.5, 0.25, 0.25}, {0.9, 0.05, 0.05}}});
        const std::string note = note_of(heads_config(), {{"weights", weights}});
        CHECK_SAYS(note, "The largest weight in head 0 is 0.7500: 'green' attends most to itself");
        CHECK_SAYS(note, "The largest of all is 0.9000: 'blue' to 'red' in head 1.");
        const Tensor smaller =
            by_head({{{0.5, 0.25, 0.25}, {0.125, 0.75, 0.125}, {0.5, 0.25, 0.25}},
                     {{0.5, 0.25, 0.25}, {0.5, 0.25, 0.25}, {0.6, 0.2, 0.2}}});
        CHECK_SILENT(note_of(heads_config(), {{"weights", smaller}}), "The largest of all");
    }

    TEST_CASE("if all weights of the first matrix are equal, the largest elsewhere is named") {
        const double third = 1.0 / 3;
        const Tensor weights =
            by_head({{{third, third, third}, {third, third, third}, {third, third, third}},
                     {{0.5, 0.25, 0.25}, {0.5, 0.25, 0.25}, {0.9, 0.05, 0.05}}});
        const std::string note = note_of(heads_config(), {{"weights", weights}});
        CHECK_SILENT(note, "The largest of all");
        CHECK_SAYS(note, "Elsewhere the largest weight is 0.9000: 'blue' to 'red' in head 1.");
    }

    TEST_CASE("sequences of a batch are named, with their own words") {
        const Tensor weights = by_batch({{{0.5, 0.5}, {0.75, 0.25}}, {{0.9, 0.1}, {0.05, 0.95}}});
        const std::string note = note_of(words_config({{1, 2}, {3, 2}}), {{"weights", weights}});
        CHECK_SAYS(note,
                   "The largest weight in sequence 0 is 0.7500: 'green' attends most to 'red'");
        CHECK_SAYS(note, "The largest of all is 0.9500: 'green' to itself in sequence 1.");
        const Tensor third = by_batch({{{0.5, 0.5}, {0.75, 0.25}}, {{0.95, 0.05}, {0.5, 0.5}}});
        CHECK_SAYS(note_of(words_config({{1, 2}, {3, 2}}), {{"weights", third}}),
                   "The largest of all is 0.9500: 'blue' to itself in sequence 1.");
    }

    TEST_CASE("keys of a memory have words of their own, and no query attends to itself there") {
        WalkConfig config = words_config({{1, 2}});
        config.memory = words_config({{3, 2, 1}}).input;
        const Tensor weights = matrix({{0.5, 0.25, 0.25}, {0.1, 0.8, 0.1}});
        CHECK_SAYS(note_of(config, {{"weights", weights}}), "'green' attends most to 'green'");
        config.memory = RandomInput{};
        config.key_len = 3;
        CHECK_SAYS(note_of(config, {{"weights", weights}}),
                   "'green' attends most to memory position 1");
    }

    TEST_CASE("with one query, the note describes the row, not each row") {
        const std::string note =
            note_of(words_config({{1}}), {{"weights", matrix(Array<double>::filled({1, 1}, 1))}});
        CHECK(note == "The row sums to 1. 'red' sees only itself, so that weight is 1.");
    }

    TEST_CASE("softmax over queries is described as such, and no row is said to sum to 1") {
        WalkConfig config = words_config();
        config.softmax_axis = SoftmaxAxis::query;
        const Tensor weights = matrix({{0.5, 0.125, 0.25}, {0.25, 0.75, 0.25}, {0.25, 0.125, 0.5}});
        const std::string note = note_of(config, {{"weights", weights}});
        CHECK_SAYS(note, "Softmax ran over the query axis");
        CHECK_SAYS(note, "each column sums to 1 over the queries");
        CHECK_SILENT(note, "attends most");
        CHECK_SAYS(note, "The largest weight is 0.7500: 'green' to itself.");
    }

    TEST_CASE("the largest weight in a note is in the row that the note names") {
        const std::regex told("largest weight(?: in [a-z0-9, ]+)? is ([0-9.]+):");
        std::size_t found = 0;
        for (std::uint64_t seed = 1; seed <= 200; ++seed) {
            WalkConfig config = words_config({{1, 2, 3, 1}, {2, 3, 1, 1}});
            config.seed = seed;
            config.heads = 2;
            config.mask.causal = seed % 2 == 0;
            const Plan plan = resolve(config);
            const Ledger ledger = walk(plan, draw(plan));
            const std::string note = note_of_step("weights", plan, ledger);
            std::smatch match;
            REQUIRE_MESSAGE(std::regex_search(note, match, told), note);
            // The first matrix, without rows that see one key.
            const Tensor& weights = ledger["weights"];
            double largest = 0;
            for (std::size_t q = config.mask.causal ? 1 : 0; q < 4; ++q) {
                for (std::size_t k = 0; k < 4; ++k) {
                    largest = std::max(largest, weights.at(q * 4 + k));
                }
            }
            CHECK(std::stod(match[1]) == doctest::Approx(largest).epsilon(1e-3));
            ++found;
        }
        CHECK(found == 200);
    }

    TEST_CASE("the notes on the parts of softmax name hidden cells and nan") {
        const Tensor row_max({"query"}, Array<double>{1.0, -infinity});
        CHECK_SAYS(note_of(words_config({{1, 2}}), {{"row_max", row_max}}),
                   "It is -inf if every cell is hidden.");
        const Tensor finite({"query"}, Array<double>{1.0, 2.0});
        CHECK_SILENT(note_of(words_config({{1, 2}}), {{"row_max", finite}}), "-inf");
        WalkConfig causal = words_config({{1, 2}});
        const Tensor exponentials = matrix({{1, 0}, {0.5, 1}});
        CHECK_SILENT(note_of(causal, {{"exponentials", exponentials}}), "Hidden");
        causal.mask.causal = true;
        CHECK_SAYS(note_of(causal, {{"exponentials", exponentials}}),
                   "Hidden cells give exactly 0.");
        const Tensor sums({"query"}, Array<double>{1.0, 1.5});
        CHECK_SAYS(note_of(causal, {{"exponentials", exponentials}, {"row_sum", sums}}),
                   "to the number of cells that are not hidden, if all are equal");
    }
}
