#include "tests/explain/notes/small_walks.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

Tensor features(const std::string& rows, const Array<double>& cells) {
    return {{rows, "feature"}, cells};
}

std::string context_note(const Array<double>& weights, const Array<double>& context,
                         const Array<double>& value) {
    return note_of(words_config(), {{"value", features("key", value)},
                                    {"weights", matrix(weights)},
                                    {"context", features("query", context)}});
}

const Array<double> values{{1, 0}, {0, 1}, {2, 2}};

}  // namespace

TEST_SUITE("notes: context") {
    TEST_CASE("the largest weight is named with query and key") {
        const std::string note =
            context_note({{0.5, 0.25, 0.25}, {0.125, 0.125, 0.75}, {0.5, 0.25, 0.25}},
                         {{1, 0.75}, {1.625, 1.625}, {1, 0.75}}, values);
        CHECK_SAYS(note, "Each row is an average of the value rows, weighted by attention.");
        CHECK_SAYS(note, "The largest share is 0.7500: 'green' takes it from 'blue'.");
    }

    TEST_CASE("an even row receives the mean") {
        const double third = 1.0 / 3;
        const std::string note =
            context_note({{third, third, third}, {0.5, 0.25, 0.25}, {0.5, 0.25, 0.25}},
                         {{1, 1}, {1, 0.75}, {1, 0.75}}, values);
        CHECK_SAYS(note, "'red' receives the plain mean of the visible values.");
    }

    TEST_CASE("weights that do not sum to 1 make no average") {
        CHECK_SAYS(context_note({{0.5, 0.25, 0}, {0.5, 0.25, 0}, {0.5, 0.25, 0}},
                                {{0.5, 0.25}, {0.5, 0.25}, {0.5, 0.25}}, values),
                   "The weights do not sum to 1, so a row is not an average.");
    }

    TEST_CASE("nan is traced to the weights, or to a value") {
        CHECK_SAYS(context_note({{NAN, NAN, NAN}, {0.5, 0.25, 0.25}, {0.5, 0.25, 0.25}},
                                {{NAN, NAN}, {1, 0.75}, {1, 0.75}}, values),
                   "'red' has nan: weights that are nan pass it on.");
        CHECK_SAYS(context_note({{0.5, 0.25, 0.25}, {0.5, 0.25, 0.25}, {0.5, 0.25, 0.25}},
                                {{NAN, 1}, {NAN, 1}, {NAN, 1}}, {{1, 0}, {NAN, 1}, {2, 2}}),
                   "'red' and 2 others have nan: a value that is nan or infinite reaches it, even "
                   "with weight 0.");
    }

    TEST_CASE("a single key gives its value back unchanged") {
        Ledger ledger(chains_of(step_table()));
        ledger.record("value", features("key", values));
        ledger.record("masked_scores", matrix({{3, -infinity, -infinity}, {1, 2, 3}, {1, 2, 3}}));
        ledger.record("weights", matrix({{1, 0, 0}, {0.2, 0.3, 0.5}, {0.2, 0.3, 0.5}}));
        ledger.record("context", features("query", {{1, 0}, {1.2, 1.3}, {1.2, 1.3}}));
        const Plan plan = resolve(words_config());
        CHECK_SAYS(note_of_step("context", plan, ledger),
                   "'red' sees only itself and receives that value unchanged.");
        // With another number there it is not unchanged, and the note does not call it so.
        ledger.record("context", features("query", {{1, 0.5}, {1.2, 1.3}, {1.2, 1.3}}));
        CHECK_SILENT(note_of_step("context", plan, ledger), "unchanged");
    }

    TEST_CASE("the note on merging names the features of each head") {
        WalkConfig config = words_config();
        config.heads = 3;
        config.head_dim = 2;
        const Tensor merged = features("query", Array<double>::filled({3, 6}, 0));
        CHECK_SAYS(note_of(config, {{"merged", merged}}),
                   "features 0 to 1 come from head 0, features 2 to 3 from head 1 and so on");
        config.heads = 2;
        config.head_dim = 1;
        const Tensor narrow = features("query", Array<double>::filled({3, 2}, 0));
        CHECK_SAYS(note_of(config, {{"merged", narrow}}),
                   "feature 0 comes from head 0, feature 1 from head 1. Nothing is computed");
    }

    TEST_CASE("a step that is absent has no note") {
        const Plan plan = resolve(words_config());
        CHECK(note_of_step("weights", plan, Ledger{}).empty());
    }
}
