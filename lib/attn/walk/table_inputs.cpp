#include <array>
#include <cstdio>

#include "attn/steps/embedding.hpp"
#include "attn/walk/table_parts.hpp"

namespace attn {
namespace {

bool has_tokens(const Source& source) { return std::holds_alternative<Tokens>(source); }

bool has_ids(const Plan& plan) { return plan.has_x() && has_tokens(plan.config.input); }

bool has_memory(const Plan& plan) { return plan.has_x() && plan.has_memory; }

bool has_memory_ids(const Plan& plan) {
    return has_memory(plan) && has_tokens(*plan.config.memory);
}

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

std::string drawn_or_given(const Source& source, const std::string& name) {
    if (const auto* random = std::get_if<RandomInput>(&source)) {
        return random->distribution == Distribution::normal ? name + " ~ N(0, 1)"
                                                            : name + " ~ U[0, 1)";
    }
    return name + " as given";
}

bool is_parameter(const Plan& plan, std::string_view part, bool bias) {
    const WalkConfig& config = plan.config;
    if (part == "output") {
        return config.output_projection && (!bias || config.output_bias);
    }
    if (config.projection == Projection::none || (bias && !config.bias)) return false;
    return plan.one_weight() == (part == "qkv");
}

/// The formula of a parameter: where it comes from.
std::function<std::string(const Plan&)> learned(const std::string& name) {
    return [name](const Plan& plan) {
        return std::string("a parameter: learned in training, ") +
               (plan.config.parameters.has(name) ? "given" : "drawn") + " here";
    };
}

Step parameter(const std::string& part, bool bias) {
    const std::string name = (bias ? "b_" : "w_") + part;
    const std::string whose = part == "qkv" ? "query, key and value" : part;
    Step step;
    step.name = name;
    step.title = (bias ? "the bias of the " : "the weight matrix of the ") + whose + " projection";
    step.kind = Step::Kind::parameter;
    step.shown = false;
    step.applies = [part, bias](const Plan& plan) { return is_parameter(plan, part, bias); };
    step.formula = learned(name);
    return step;
}

}  // namespace

std::string short_number(double number) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4g", number);
    return text.data();
}

StepTable input_steps() {
    using Kind = Step::Kind;
    return {
        {"ids",
         "one id for each token",
         Kind::input,
         true,
         has_ids,
         always("the vocabulary's number of each token"),
         {}},
        {"embedding",
         "one row of features for each id",
         Kind::input,
         false,
         has_ids,
         learned("embedding"),
         {}},
        {"x", "the input, one row of features for each token", Kind::input, true,
         [](const Plan& plan) { return plan.has_x(); },
         [](const Plan& plan) {
             return has_ids(plan) ? "x(t) = embedding(ids(t))"
                                  : drawn_or_given(plan.config.input, "x");
         },
         [](const Plan& plan, const Ledger& ledger) {
             return look_up(plan, ledger["ids"], ledger["embedding"]);
         }},
        {"memory_ids",
         "one id for each token of the memory",
         Kind::input,
         true,
         has_memory_ids,
         always("the vocabulary's number of each token"),
         {}},
        {"memory_embedding",
         "one row of features for each id of the memory",
         Kind::input,
         false,
         has_memory_ids,
         learned("memory_embedding"),
         {}},
        {"memory", "the second source, which the queries look at", Kind::input, true, has_memory,
         [](const Plan& plan) {
             return has_memory_ids(plan) ? "memory(t) = memory_embedding(memory_ids(t))"
                                         : drawn_or_given(*plan.config.memory, "memory");
         },
         [](const Plan& plan, const Ledger& ledger) {
             return look_up(plan, ledger["memory_ids"], ledger["memory_embedding"]);
         }},
    };
}

StepTable parameter_steps() {
    StepTable steps;
    for (const char* part : {"query", "key", "value", "qkv"}) {
        for (const bool bias : {false, true}) steps.push_back(parameter(part, bias));
    }
    return steps;
}

StepTable output_parameter_steps() {
    return {parameter("output", false), parameter("output", true)};
}

}  // namespace attn
