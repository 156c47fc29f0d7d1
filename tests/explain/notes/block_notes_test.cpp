#include "tests/explain/notes/small_walks.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

/// Six keys in three blocks of two.
WalkConfig blocks_config() {
    WalkConfig config = positions_config(2);
    config.memory = RandomInput{};
    config.key_len = 6;
    config.variant = Variant::fused;
    return config;
}

Tensor by_block(const Array<double>& cells) { return {{"query", "block"}, cells}; }

}  // namespace

TEST_SUITE("notes: blocks") {
    TEST_CASE(
        "the note on the running maximum names the first query whose maximum grows, and the "
        "block") {
        const std::string note =
            note_of(blocks_config(), {{"running_max", by_block({{3, 3, 3}, {1, 1, 2.5}})}});
        CHECK_SAYS(note, "The keys come in 3 blocks of up to 2 keys.");
        CHECK_SAYS(note, "Position 1 gets a larger one, 2.5000, in block 2.");
    }

    TEST_CASE("a constant maximum is not described as rising") {
        CHECK_SILENT(note_of(blocks_config(), {{"running_max", by_block({{3, 3, 3}, {2, 2, 2}})}}),
                     "gets a larger");
    }

    TEST_CASE("the note on the correction names the first factor below 1") {
        const std::string note =
            note_of(blocks_config(), {{"correction", by_block({{0, 1, 1}, {0, 0.25, 0.5}})}});
        CHECK_SAYS(note, "The sums of position 1 so far are multiplied by 0.2500 in block 1.");
        CHECK_SILENT(note_of(blocks_config(), {{"correction", by_block({{0, 1, 1}, {0, 1, 1}})}}),
                     "so far are multiplied");
    }

    TEST_CASE(
        "the note on the running sum names the divisor of the first query, if it is a number") {
        CHECK_SAYS(
            note_of(blocks_config(), {{"running_sum", by_block({{1, 1.5, 2.25}, {1, 2, 3}})}}),
            "For position 0 that is 2.2500.");
        CHECK_SILENT(
            note_of(blocks_config(), {{"running_sum", by_block({{NAN, NAN, NAN}, {1, 2, 3}})}}),
            "that is");
    }

    TEST_CASE("with several heads, the first is described and named") {
        WalkConfig config = blocks_config();
        config.heads = 2;
        const Tensor sums({"head", "query", "block"},
                          Array<double>{{{1, 2, 4}, {1, 2, 3}}, {{1, 1, 1}, {1, 1, 1}}});
        CHECK_SAYS(note_of(config, {{"running_sum", sums}}),
                   "In head 0, for position 0 that is 4.");
        const Tensor largest({"head", "query", "block"},
                             Array<double>{{{1, 1, 1}, {1, 2, 3}}, {{1, 5, 5}, {1, 1, 1}}});
        CHECK_SAYS(note_of(config, {{"running_max", largest}}),
                   "In head 0, position 1 gets a larger one, 2, in block 1.");
    }

    TEST_CASE("the notes are true of a real walk") {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            WalkConfig config = blocks_config();
            config.seed = seed;
            const Plan plan = resolve(config);
            const Ledger ledger = walk(plan, draw(plan));
            const Tensor& largest = ledger["running_max"];
            const bool rises = largest.at(0) < largest.at(2) || largest.at(3) < largest.at(5);
            CHECK(mentions(note_of_step("running_max", plan, ledger), "gets a larger one") ==
                  rises);
            const Tensor& correction = ledger["correction"];
            bool corrects = false;
            for (const std::size_t cell : {1, 2, 4, 5}) {
                corrects = corrects || (correction.at(cell) > 0 && correction.at(cell) < 1);
            }
            CHECK(corrects == rises);
            CHECK(mentions(note_of_step("correction", plan, ledger), "so far are multiplied") ==
                  corrects);
        }
    }
}
