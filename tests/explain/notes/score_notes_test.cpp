#include "tests/explain/notes/small_walks.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

std::string scores_note(const Array<double>& scores, const WalkConfig& config = words_config()) {
    return note_of(config, {{"scores", matrix(scores)}});
}

/// The note on scores before and after scaling.
std::string scaled_note(const ScaleChoice& scale, const Array<double>& before,
                        const Array<double>& after) {
    WalkConfig config = words_config();
    config.scale = scale;
    return note_of(config, {{"scores", matrix(before)}, {"scaled_scores", matrix(after)}});
}

WalkConfig causal_config(std::vector<std::vector<std::int64_t>> sequences = {{1, 2, 3}}) {
    WalkConfig config = words_config(std::move(sequences));
    config.mask.causal = true;
    return config;
}

/// The note on the mask that the plan itself makes.
std::string own_mask_note(const WalkConfig& config) {
    const Plan plan = resolve(config);
    const Ledger ledger = walk(plan, draw(plan));
    return note_of_step("mask", plan, ledger);
}

const Array<double> nine{{1, 2, 3}, {4, 9, 6}, {7, 8, 5}};
const Array<double> minus_nine{{-1, -2, -3}, {-4, -9, -6}, {-7, -8, -5}};
const Array<double> half_of_nine{{0.5, 1, 1.5}, {2, 4.5, 3}, {3.5, 4, 2.5}};

}  // namespace

TEST_SUITE("notes: scores") {
    TEST_CASE("the largest score is named with its query and its key") {
        CHECK_SAYS(scores_note(nine), "The largest is 9: 'green' with itself.");
        CHECK_SAYS(scores_note({{1, 2, 3}, {4, 5, 6}, {7.25, 5, 5}}),
                   "The largest is 7.2500: 'blue' with 'red'.");
        CHECK_SAYS(scores_note({{-1, -2}, {-0.5, -3}}, positions_config(2)),
                   "The largest is -0.5000: position 1 with position 0.");
    }

    TEST_CASE("if several are the largest, the first is named as one of them") {
        CHECK_SAYS(scores_note({{1, 9, 3}, {4, 9, 6}, {7, 8, 9}}),
                   "The largest is 9, first at 'red' with 'green'.");
    }

    TEST_CASE("rows of equal scores are named, alone or together") {
        CHECK_SAYS(scores_note({{1, 2, 3}, {4, 4, 4}, {7, 8, 5}}),
                   "All scores of 'green' are equal (4): no key stands out.");
        CHECK_SAYS(scores_note({{1, 1, 1}, {4, 4, 4}, {7, 8, 5}}),
                   "All scores of 'red' and 1 other are equal: no key stands out.");
        CHECK_SILENT(scores_note({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}}), "The largest is");
    }

    TEST_CASE("nan is named with its row, and is not the largest") {
        const std::string note = scores_note({{1, 2, 3}, {NAN, 5, 6}, {7, 8, 5}});
        CHECK_SAYS(note, "There is nan among the scores of 'green'");
        CHECK_SAYS(note, "The largest is 8: 'blue' with 'green'.");
    }

    TEST_CASE("one query and one key have a single score") {
        WalkConfig config = words_config({{1}});
        CHECK_SAYS(note_of(config, {{"scores", matrix(Array<double>::filled({1, 1}, 2))}}),
                   "The only score is 2: 'red' with itself.");
    }

    TEST_CASE("with several heads the first is described, and the note states this") {
        WalkConfig config = words_config({{1, 2}});
        config.heads = 2;
        const Tensor scores = by_head({{{1, 2}, {3, 0}}, {{9, 8}, {7, 6}}});
        CHECK_SAYS(note_of(config, {{"scores", scores}}),
                   "The largest in head 0 is 3: 'green' with 'red'.");
    }

    TEST_CASE("scaling is described with its factor and the source of the factor") {
        const std::string note = scaled_note({}, nine, half_of_nine);
        CHECK_SAYS(note, "Every score is divided by 2, the square root of head_dim 4.");
        CHECK_SAYS(note, "The largest goes from 9 to 4.5000.");
        CHECK_SAYS(scaled_note({ScaleChoice::By::number, 0.5}, nine, half_of_nine),
                   "Every score is multiplied by 0.5. The largest goes from 9 to 4.5000.");
    }

    TEST_CASE("the width of the embedding is distinguished from that of a head") {
        WalkConfig config = words_config();
        config.heads = 4;
        config.scale.by = ScaleChoice::By::embed_dim;
        CHECK_SAYS(note_of(config, {{"scaled_scores", matrix(nine)}}),
                   "divided by 4, the square root of embed_dim 16 (the paper uses head_dim).");
    }

    TEST_CASE("factors that change little or much are called so") {
        CHECK_SAYS(scaled_note({ScaleChoice::By::number, 1}, nine, nine),
                   "That changes nothing here.");
        CHECK_SAYS(
            scaled_note({ScaleChoice::By::number, 0}, nine, Array<double>::filled({3, 3}, 0)),
            "All become equal, so no key stands out.");
        CHECK_SAYS(scaled_note({ScaleChoice::By::number, -1}, nine, minus_nine),
                   "That reverses their order.");
    }

    TEST_CASE("a scale that these numbers contradict is not claimed") {
        const std::string note = scaled_note({}, nine, nine);
        CHECK_SILENT(note, "divided by");
        CHECK_SILENT(note, "softmax");
        CHECK_SAYS(note, "The largest goes from 9 to 9.");
    }
}

TEST_SUITE("notes: mask") {
    TEST_CASE(
        "a causal mask is described from the query that sees least to the one that sees most") {
        CHECK(own_mask_note(causal_config()) ==
              "True means hidden: 3 of 9 cells, keys that come after the query. 'red' sees only "
              "itself, "
              "'blue' sees all 3 keys.");
    }

    TEST_CASE("padding is described in the first sequence that has some") {
        WalkConfig config = words_config({{1, 2, 3}, {3, 1, 0}});
        std::get<Tokens>(config.input).pad_id = 0;
        config.mask.padding = true;
        const std::string note = own_mask_note(config);
        CHECK_SAYS(note, "keys that are padding.");
        CHECK_SAYS(note, "In sequence 1, every query sees 2 of the 3 keys.");
        config.mask.causal = true;
        CHECK_SAYS(own_mask_note(config),
                   "keys that come after the query, and keys that are padding.");
    }

    TEST_CASE("a causal mask that counts from the end is noted") {
        WalkConfig config = causal_config({{1, 2}});
        config.memory = RandomInput{};
        config.key_len = 4;
        config.causal_align = CausalAlign::end;
        const std::string note = own_mask_note(config);
        CHECK_SAYS(note,
                   "True means hidden: 1 of 8 cells, keys that come later than the query, counted "
                   "from the end.");
        CHECK_SAYS(note, "'red' sees 3 of the 4 keys, 'green' sees all 4 keys.");
    }

    TEST_CASE("a mask that breaks the rule is given no reason") {
        const Tensor upper =
            hidden({{false, false, false}, {true, false, false}, {true, true, false}});
        const std::string note = note_of(causal_config(), {{"mask", upper}});
        CHECK_SAYS(note, "True means hidden: 3 of 9 cells.");
        CHECK_SAYS(note, "'blue' sees only itself, 'red' sees all 3 keys.");
        CHECK_SILENT(note, "come after");
    }

    TEST_CASE("rows that see nothing, and rows that see one key, are named") {
        const Tensor nothing =
            hidden({{true, true, true}, {false, true, true}, {false, false, true}});
        CHECK_SAYS(note_of(causal_config(), {{"mask", nothing}}),
                   "'red' sees no key at all, 'blue' sees 2 of the 3 keys.");
        const Tensor diagonal =
            hidden({{false, true, true}, {true, false, true}, {true, true, false}});
        CHECK_SAYS(note_of(causal_config(), {{"mask", diagonal}}),
                   "Every query sees a single key.");
    }

    TEST_CASE("a mask that hides nothing is noted, before and after") {
        const Tensor none = hidden({{false, false}, {false, false}});
        WalkConfig config = causal_config({{1, 2}});
        CHECK(note_of(config, {{"mask", none}}) ==
              "Nothing is hidden: every query may see every key.");
        CHECK(note_of(config, {{"mask", none}, {"masked_scores", matrix({{1, 2}, {3, 4}})}}) ==
              "Nothing was hidden, so the scores stay as they are.");
    }
}

TEST_SUITE("notes: masked scores") {
    const Tensor causal =
        hidden({{false, true, true}, {false, false, true}, {false, false, false}});

    TEST_CASE("the largest visible score is named, not a hidden one") {
        const Tensor masked = matrix({{1, -infinity, -infinity}, {4, 5, -infinity}, {7, 3, 5}});
        const std::string note =
            note_of(causal_config(), {{"mask", causal}, {"masked_scores", masked}});
        CHECK_SAYS(note, "Hidden cells become -inf");
        CHECK_SAYS(note, "The largest score left is 7: 'blue' with 'red'.");
    }

    TEST_CASE("scores that should be hidden but are not are noticed") {
        const Tensor zeros = matrix({{1, 0, 0}, {4, 5, 0}, {7, 3, 5}});
        CHECK(note_of(causal_config(), {{"mask", causal}, {"masked_scores", zeros}}) ==
              "Cells that the mask hides are not all -inf here.");
    }

    TEST_CASE("fully masked rows are named with the result of softmax") {
        const Tensor mask = hidden({{true, true, true}, {false, false, true}, {true, true, true}});
        const Tensor masked = matrix({{-infinity, -infinity, -infinity},
                                      {4, 5, -infinity},
                                      {-infinity, -infinity, -infinity}});
        WalkConfig config = causal_config();
        CHECK_SAYS(note_of(config, {{"mask", mask}, {"masked_scores", masked}}),
                   "'red' and 1 other see no key: all its scores are -inf, and softmax "
                   "computes 0/0 = nan.");
        config.empty_row = EmptyRow::zero;
        CHECK_SAYS(note_of(config, {{"mask", mask}, {"masked_scores", masked}}),
                   "the weights of such a row will be 0, as set.");
    }
}
