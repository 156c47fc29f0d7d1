#include "attn/cards/cards.hpp"
#include "attn/steps/embedding.hpp"

namespace attn {
namespace {

/// x or memory: where the walk starts, and the names of its steps.
struct Start {
    const char *ids, *embedding, *tensor;
    bool of_memory;

    bool exists(const Plan& plan) const { return plan.has_x() && (!of_memory || plan.has_memory); }
    const Source& source(const Plan& plan) const {
        return of_memory ? *plan.config.memory : plan.config.input;
    }
    bool has_ids(const Plan& plan) const {
        return exists(plan) && std::holds_alternative<Tokens>(source(plan));
    }
    std::size_t length(const Plan& plan) const { return of_memory ? plan.key_len : plan.query_len; }
    std::size_t features(const Plan& plan) const {
        return of_memory ? plan.memory_dim : plan.embed_dim;
    }
};

constexpr Start starts[]{{"ids", "embedding", "x", false},
                         {"memory_ids", "memory_embedding", "memory", true}};

/// Looks the ids of one source up in its table.
Tensor look_up(const Plan& plan, const Tensor& ids, const Tensor& table) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Axes axes = ids.axes();
        axes.push_back("feature");
        const auto step = twin(plan, loop::embed<T>, vectorized::embed<T>);
        return {axes, step(ids.as<std::int64_t>(), table.as<T>())};
    });
}

std::string start_formula(const Start& start, const Plan& plan) {
    const std::string name = start.tensor;
    if (start.has_ids(plan)) {
        return name + "(t) = " + start.embedding + "(" + start.ids + "(t))";
    }
    if (const auto* random = std::get_if<RandomInput>(&start.source(plan))) {
        return name + (random->distribution == Distribution::normal ? " ~ N(0, 1)" : " ~ U[0, 1)");
    }
    return name + " as given";
}

/// The formula of a parameter: where it comes from.
std::function<std::string(const PlannedStep&)> learned() {
    return [](const PlannedStep& of) {
        return std::string("a parameter: learned in training, ") +
               (of.plan.config.parameters.has(of.step.name) ? "given" : "drawn") + " here";
    };
}

Step ids_card(const Start& start) {
    return {
        .name = start.ids,
        .title = "one id for each token",
        .kind = Step::Kind::input,
        .tokens = start.of_memory ? "key" : "query",
        .applies = [start](const Plan& plan) { return start.has_ids(plan); },
        .outline =
            [start](const Plan& plan) {
                Outline ids{{"token"}, {start.length(plan)}};
                if (plan.has_batch) ids = {{"batch", "token"}, {plan.batch, start.length(plan)}};
                return ids;
            },
        .formula = always("the vocabulary's number of each token"),
    };
}

Step embedding_card(const Start& start) {
    return {
        .name = start.embedding,
        .title = std::string("one row of features for each id") +
                 (start.of_memory ? " of the memory" : ""),
        .kind = Step::Kind::input,
        .shown = false,
        .tokens = start.of_memory ? "key" : "query",
        .applies = [start](const Plan& plan) { return start.has_ids(plan); },
        .outline =
            [start](const Plan& plan) {
                const auto rows = *std::get<Tokens>(start.source(plan)).vocab_size;
                return Outline{{"vocab", "feature"},
                               {static_cast<std::size_t>(rows), start.features(plan)}};
            },
        .formula = learned(),
    };
}

Step start_card(const Start& start) {
    return {
        .name = start.tensor,
        .title = start.of_memory ? "the second source, which the queries look at"
                                 : "the input, one row of features for each token",
        .kind = Step::Kind::input,
        .tokens = start.of_memory ? "key" : "query",
        .applies = [start](const Plan& plan) { return start.exists(plan); },
        .reads =
            [start](const Plan& plan) {
                if (!start.has_ids(plan)) return std::vector<Input>();
                return std::vector<Input>{start.ids, start.embedding};
            },
        .outline =
            [start](const Plan& plan) {
                return Outline{plan.per_batch_axes("token", "feature"),
                               plan.per_batch_shape(start.length(plan), start.features(plan))};
            },
        .formula = [start](const PlannedStep& of) { return start_formula(start, of.plan); },
        .compute =
            [start](const Plan& plan, const Ledger& ledger) {
                return look_up(plan, ledger[start.ids], ledger[start.embedding]);
            },
    };
}

bool has_parameter(const Plan& plan, std::string_view part, bool bias) {
    const WalkConfig& config = plan.config;
    if (part == "output") return config.output_projection && (!bias || config.output_bias);
    if (config.projection == Projection::none || (bias && !config.bias)) return false;
    return plan.one_weight() == (part == "qkv");
}

/// The axes of a parameter; its lengths in and out are those of all heads where it has no head
/// axis.
Outline parameter_outline(const Plan& plan, const std::string& part, bool bias) {
    std::size_t in = plan.embed_dim;
    std::size_t out = plan.heads * (2 * plan.head_dim + plan.value_dim);
    bool per_head = false;
    if (part == "output") {
        in = plan.heads * plan.value_dim;
        out = plan.output_dim;
    } else if (part != "qkv") {
        const Projected& projected = projected_of(part.front());
        per_head = plan.head_axis_on_weight();
        in = projected.inputs(plan);
        out = projected.width(plan) * (per_head ? 1 : plan.heads);
    }
    Outline outline{{"in", "out"}, {in, out}};
    if (*plan.config.weight_layout == WeightLayout::out_in) outline = {{"out", "in"}, {out, in}};
    if (bias) outline = {{"out"}, {out}};
    if (per_head) {
        outline.axes.insert(outline.axes.begin(), "head");
        outline.shape.insert(outline.shape.begin(), plan.heads);
    }
    return outline;
}

}  // namespace

StepTable input_cards() {
    StepTable cards;
    for (const Start& start : starts) {
        cards.push_back(ids_card(start));
        cards.push_back(embedding_card(start));
        cards.push_back(start_card(start));
    }
    return cards;
}

Step parameter_card(const std::string& part, bool bias) {
    const std::string whose = part == "qkv" ? "query, key and value" : part;
    return {
        .name = (bias ? "b_" : "w_") + part,
        .title = (bias ? "the bias of the " : "the weight matrix of the ") + whose + " projection",
        .kind = Step::Kind::parameter,
        .shown = false,
        .applies = [part, bias](const Plan& plan) { return has_parameter(plan, part, bias); },
        .outline = [part, bias](const Plan& plan) { return parameter_outline(plan, part, bias); },
        .formula = learned(),
    };
}

StepTable parameter_cards() {
    StepTable cards;
    for (const char* part : {"query", "key", "value", "qkv"}) {
        for (const bool bias : {false, true}) cards.push_back(parameter_card(part, bias));
    }
    return cards;
}

}  // namespace attn
