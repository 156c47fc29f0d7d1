// Notes on slices: each claim about a part is true of the printed cells.
#include <algorithm>
#include <regex>
#include <set>

#include "attn/core/walk/walk.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "tests/core/plan/random_plans.hpp"
#include "tests/explain/notes/small_walks.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

struct Walk {
    Plan plan;
    StepTable table;
    Ledger ledger;

    explicit Walk(const WalkConfig& config)
        : plan(resolve(config)), table(step_table(plan)), ledger(walk(plan, draw(plan))) {}

    std::string note(const std::string& name) const {
        return step_note({plan, table, find_step(table, name)}, ledger);
    }
    std::string note(const std::string& name, const std::string& indices) const {
        return step_note({plan, table, find_step(table, name)}, ledger,
                         slice_parts(ledger[name], indices));
    }
};

/// `the cat saw the dog`, drawn so that every weight differs.
WalkConfig cat_config(std::int64_t heads) {
    Tokens tokens;
    tokens.sequences = {{4, 1, 3, 4, 2}};
    tokens.vocabulary = {"<pad>", "cat", "dog", "saw", "the"};
    tokens.vocab_size = 5;
    WalkConfig config;
    config.input = tokens;
    config.heads = heads;
    config.head_dim = 4;
    return config;
}

/// A non-empty slice of a tensor with these lengths: `1,:,0:2`.
std::string some_slice(const Shape& shape, std::mt19937& random) {
    std::string text;
    for (const std::size_t length : shape) {
        const std::size_t first = random() % length;
        const std::size_t end = first + 1 + random() % (length - first);
        const std::string kinds[]{std::to_string(first),
                                  std::to_string(first) + ":" + std::to_string(end),
                                  ":",
                                  ":",
                                  "::-1",
                                  std::to_string(first) + "::2"};
        text += (text.empty() ? "" : ",") + kinds[random() % std::size(kinds)];
    }
    return text;
}

/// The numbers with four decimals in a text.
std::vector<std::string> numbers_in(const std::string& text) {
    static const std::regex decimals("-?\\d+\\.\\d{4}(?!\\d)");
    std::vector<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), decimals), end; at != end; ++at) {
        found.push_back(at->str());
    }
    return found;
}

/// Numbers readable from the cells of a part: each of them, and the sum and the length of each row.
std::set<std::string> readable_from(const Tensor& part) {
    std::set<std::string> all;
    const std::size_t columns = part.dimension() == 0 ? 1 : part.shape().back();
    for (std::size_t row = 0; row * columns < part.size(); ++row) {
        double sum = 0;
        double squares = 0;
        for (std::size_t c = 0; c < columns; ++c) {
            const double cell = part.at(row * columns + c);
            all.insert(notes::number(cell));
            sum += cell;
            squares += cell * cell;
        }
        all.insert(notes::number(sum));
        all.insert(notes::number(std::sqrt(squares)));
    }
    return all;
}

/// One walk of each variant of attention, with several heads, sequences or both.
std::vector<std::pair<std::string, WalkConfig>> variants() {
    std::vector<std::pair<std::string, WalkConfig>> all;
    const auto add = [&](const std::string& name, auto change) {
        WalkConfig config = cat_config(2);
        change(config);
        all.emplace_back(name, config);
    };
    add("heads", [](WalkConfig&) {});
    add("causal", [](WalkConfig& config) { config.mask.causal = true; });
    add("window", [](WalkConfig& config) { config.mask.window = 2; });
    add("padding", [](WalkConfig& config) {
        auto& tokens = std::get<Tokens>(config.input);
        tokens.sequences = {{4, 1, 3, 4, 2}, {1, 3, 2, 0, 0}};
        tokens.pad_id = 0;
        tokens.batch_axis = true;
        config.mask.padding = true;
    });
    add("sink", [](WalkConfig& config) { config.sink = SinkLogit::normal; });
    add("kv-heads", [](WalkConfig& config) {
        config.heads = 4;
        config.kv_heads = 2;
    });
    add("cache", [](WalkConfig& config) {
        config.past = 3;
        config.mask.causal = true;
    });
    add("softmax over queries",
        [](WalkConfig& config) { config.softmax_axis = SoftmaxAxis::query; });
    add("scaled and capped", [](WalkConfig& config) { config.softcap = 0.5; });
    return all;
}

}  // namespace

TEST_SUITE("notes: slices") {
    TEST_CASE("the note of a slice that takes everything is that of the whole tensor") {
        for (const auto& [variant, config] : variants()) {
            const Walk walk(config);
            for (const auto& [name, tensor] : walk.ledger.entries()) {
                INFO(variant << " " << name);
                CHECK(walk.note(name, "...") == walk.note(name));
                CHECK(walk.note(name, ":") == walk.note(name));
            }
        }
    }

    TEST_CASE("each number is read from the cells shown, or from the step before") {
        std::mt19937 random(7);
        std::size_t reported = 0;
        for (const auto& [variant, config] : variants()) {
            const Walk walk(config);
            for (const std::string name :
                 {"scores", "scaled_scores", "capped_scores", "masked_scores", "weights", "context",
                  "query", "key", "row_max", "row_sum", "sink_weight"}) {
                const Tensor* tensor = walk.ledger.find(name);
                if (tensor == nullptr) continue;
                for (int trial = 0; trial < 40; ++trial) {
                    const std::string indices = some_slice(tensor->shape(), random);
                    const std::string note = walk.note(name, indices);
                    INFO(variant << " " << name << "[" << indices << "]: " << note);
                    CHECK_FALSE(note.empty());
                    std::set<std::string> known = readable_from(slice(*tensor, indices));
                    for (std::size_t keys = 1; keys <= walk.plan.key_len; ++keys) {
                        known.insert(notes::number(1 / static_cast<double>(keys)));
                    }
                    const bool scores = name.find("_scores") != std::string::npos;
                    if (scores) {
                        known.merge(
                            readable_from(slice(walk.ledger.latest(Chain::scores, name), indices)));
                    }
                    if (name == "context") {
                        const std::string rows = indices.substr(0, indices.rfind(','));
                        known.merge(readable_from(slice(walk.ledger["weights"], rows)));
                    }
                    for (const std::string& number : numbers_in(note)) {
                        ++reported;
                        CHECK_MESSAGE(known.count(number) == 1, number);
                    }
                }
            }
        }
        CHECK(reported > 1000);
    }

    TEST_CASE("a part computed alone has the note of the same part of the whole walk") {
        for (const auto& [variant, loops] : variants()) {
            std::mt19937 random(11);
            WalkConfig config = loops;
            config.variant = Variant::loop;  // whose rows are the same bit for bit
            const Walk walk(config);
            const Ledger given = draw(walk.plan);
            REQUIRE(can_walk_parts(walk.plan, given, walk.table) ==
                    (config.softmax_axis == SoftmaxAxis::key));
            if (config.softmax_axis != SoftmaxAxis::key) continue;
            for (const auto& [name, tensor] : walk.ledger.entries()) {
                for (int trial = 0; trial < 10; ++trial) {
                    const std::string indices = some_slice(tensor.shape(), random);
                    INFO(variant << " " << name << "[" << indices << "]");
                    const WalkPart part =
                        walk_parts(walk.plan, given, walk.table, {{name, indices, true}}).front();
                    CHECK(step_note({walk.plan, walk.table, find_step(walk.table, name)}, part.seen,
                                    part.excerpt) == walk.note(name, indices));
                }
            }
        }
    }

    TEST_CASE("no slice of a random walk crashes a note, and none mentions other heads") {
        for (std::uint32_t seed = 0; seed < 120; ++seed) {
            std::mt19937 random(seed);
            const Walk walk(random_config(random));
            for (const auto& [name, tensor] : walk.ledger.entries()) {
                const std::string indices = some_slice(tensor.shape(), random);
                INFO("seed " << seed << " " << name << "[" << indices << "]");
                const std::string note = walk.note(name, indices);
                if (name != "weights" || walk.plan.heads < 2) continue;
                const std::size_t axis = tensor.axis("head");
                const AxisPart heads = slice_parts(tensor, indices)[axis];
                for (std::size_t head = 0; head < walk.plan.heads; ++head) {
                    bool is_shown = false;
                    for (std::size_t i = 0; i < heads.count; ++i) {
                        const auto step = static_cast<std::ptrdiff_t>(i) * heads.step;
                        is_shown =
                            is_shown || heads.first + step == static_cast<std::ptrdiff_t>(head);
                    }
                    if (!is_shown) CHECK_SILENT(note, "head " + std::to_string(head));
                }
            }
        }
    }

    TEST_CASE("an empty slice has no note") {
        const Walk walk(cat_config(2));
        CHECK(walk.note("weights", "0,2:2").empty());
    }

    TEST_CASE("a row whose keys are all shown is described as a row, under its own name") {
        const Walk walk(words_config());
        Ledger ledger(chains_of(step_table()));
        ledger.record("scores", matrix({{0, 0, 0}, {0, std::log(2), std::log(5)}, {1, 0, 0}}));
        ledger.record("weights",
                      matrix({{1. / 3, 1. / 3, 1. / 3}, {.125, .25, .625}, {.5, .25, .25}}));
        const Step& step = find_step(walk.table, "weights");
        const auto note = [&](const std::string& indices) {
            return step_note({walk.plan, walk.table, step}, ledger,
                             slice_parts(ledger["weights"], indices));
        };
        CHECK(note("1") ==
              "The row sums to 1. The largest weight shown is 0.6250: 'green' attends most to "
              "'blue' (an even share would be 0.3333).");
        CHECK(note("0") ==
              "The row sums to 1. 'red' attends to its 3 keys evenly, 0.3333 each: the scores it "
              "sees are equal.");
        CHECK(note("1,1:") ==
              "'green' gives these 2 of the 3 keys 0.8750 of its attention. The "
              "largest weight shown is 0.6250: 'green' to 'blue'.");
        CHECK(note("1,1") == "'green' gives itself 0.2500 of its attention.");
        CHECK(note("1:,1:") ==
              "These 2 of the 3 keys take from 0.5000 ('blue') to 0.8750 ('green') of a query's "
              "attention. The largest weight shown is 0.6250: 'green' to 'blue'.");
        CHECK(note(":,0") ==
              "'red' takes from 0.1250 ('green') to 0.5000 ('blue') of a query's "
              "attention.");
    }

    TEST_CASE("hidden cells are those of the part") {
        WalkConfig config = words_config();
        config.mask.causal = true;
        const Walk walk(config);
        CHECK_SAYS(walk.note("weights", "1:,1:"),
                   "1 of the 4 cells shown is hidden: its weight is 0.");
        CHECK_SILENT(walk.note("weights", "2,:2"), "hidden");
        CHECK_SAYS(walk.note("weights", "0"), "'red' sees only itself, so that weight is 1.");
        CHECK_SILENT(walk.note("weights", "0,:2"), "sees only");
        CHECK_SAYS(walk.note("mask", ":2,1:"), "True means hidden: 3 of 4 cells shown, ");
        CHECK_SAYS(walk.note("mask", ":2,1:"),
                   "'red' sees none of the keys shown, 'green' sees only itself.");
        CHECK(walk.note("mask", "1:,:2") ==
              "Nothing shown is hidden: each of these queries may see each of these keys.");
        CHECK_SILENT(walk.note("masked_scores", "0,1:"), "sees no key");
    }

    TEST_CASE("heads, sequences and positions of a slice are those of the whole walk") {
        WalkConfig config = cat_config(2);
        CHECK_SAYS(Walk(config).note("weights", "1,2:4"), "The largest weight shown in head 1 is ");
        CHECK_SAYS(Walk(config).note("projected_query", ":,4:"),
                   "features 4 to 7 belong to head 1.");
        CHECK_SAYS(Walk(config).note("weights", "0,3"), "'the' (position 3) attends most to ");
        std::get<Tokens>(config.input).sequences = {{1, 3}, {2, 4}};
        std::get<Tokens>(config.input).batch_axis = true;
        CHECK_SAYS(Walk(config).note("weights", "1,1,0,1"),
                   "In sequence 1, head 1, 'dog' gives 'the' ");
        CHECK_SAYS(Walk(config).note("ids", "1"), "'dog' becomes 2, 'the' becomes 4.");
        CHECK_SAYS(Walk(config).note("x", "1,1:"), "'the' takes row 4.");
        WalkConfig cached = positions_config(4);
        cached.past = 2;
        const std::string of_cache = Walk(cached).note("weights", "2:,:3");
        CHECK_SAYS(of_cache, "These 3 of the 6 keys take from ");
        CHECK_SAYS(of_cache, "(position 4)");
        CHECK_SAYS(of_cache, "(position 5)");
    }

    TEST_CASE("sentences on rows whose features are cut are left out") {
        const Walk walk(cat_config(1));
        CHECK_SAYS(walk.note("query"), "has the longest query (");
        CHECK_SAYS(walk.note("query", "1:"), "has the longest query shown (");
        CHECK_SILENT(walk.note("query", ":,:2"), "longest");
        CHECK_SILENT(walk.note("query", "1"), "longest");
    }

    TEST_CASE("the numbers of a slice are those that NumPy finds in it") {
        // softmax(s) for s = [[0, ln 2, ln 3, ln 4], [ln 4, 0, 0, 0]], by NumPy to four decimals.
        WalkConfig config = positions_config(2);
        config.memory = RandomInput{};
        config.key_len = 4;
        const Plan plan = resolve(config);
        const StepTable table = step_table(plan);
        Ledger ledger(chains_of(table));
        const double two = std::log(2), three = std::log(3), four = std::log(4);
        ledger.record("scores", matrix({{0, two, three, four}, {four, 0, 0, 0}}));
        ledger.record("weights", matrix({{.1, .2, .3, .4}, {4. / 7, 1. / 7, 1. / 7, 1. / 7}}));
        const auto note = [&](const std::string& name, const std::string& indices) {
            return step_note({plan, table, find_step(table, name)}, ledger,
                             slice_parts(ledger[name], indices));
        };
        CHECK(note("weights", ":,2:") ==
              "These 2 of the 4 keys take from 0.2857 (position 1) to 0.7000 (position 0) of a "
              "query's attention. The largest weight shown is 0.4000: position 0 to memory "
              "position 3.");
        CHECK(note("weights", "1,::3") ==
              "Position 1 gives these 2 of the 4 keys 0.7143 of its attention. The largest weight "
              "shown is 0.5714: position 1 to memory position 0.");
        CHECK_SAYS(note("scores", "0,:3"),
                   "The largest shown is 1.0986: position 0 with memory position 2.");
        CHECK_SAYS(note("scores", "1,1:"),
                   "The largest shown is 0, first at position 1 with "
                   "memory position 1.");
    }
}
