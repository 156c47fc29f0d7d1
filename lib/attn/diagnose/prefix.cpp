#include "attn/diagnose/prefix.hpp"

#include <algorithm>

#include "attn/cards/step_table.hpp"
#include "attn/plan/draw.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/slice.hpp"

namespace attn {
namespace {

void shorten(std::vector<std::int64_t>& list, std::size_t count) {
    if (list.size() > count) list.resize(count);
}

}  // namespace

Tensor Prefix::of(const Tensor& whole, const Shape& like) {
    if (whole.shape() == like || whole.dimension() != like.size()) return whole;
    std::vector<AxisPart> parts;
    for (std::size_t i = 0; i < like.size(); ++i) {
        parts.push_back({0, 1, std::min(like[i], whole.shape()[i]), false});
    }
    return slice(whole, parts);
}

std::optional<Prefix> prefix_of(const Plan& plan, const Ledger& given, std::size_t samples,
                                std::size_t tokens) {
    WalkConfig config = plan.config;
    const bool cuts_tokens = tokens < plan.query_len;
    if (cuts_tokens && (plan.has_memory || plan.past_len > 0 || !config.mask.documents.empty() ||
                        config.mask.given || plan.query_len != plan.key_len)) {
        return std::nullopt;
    }
    config.input = RandomInput{};
    if (plan.has_memory) config.memory = RandomInput{};
    if (plan.has_memory) config.key_len = static_cast<std::int64_t>(plan.key_len);
    if (plan.has_batch) config.batch = static_cast<std::int64_t>(samples);
    config.query_len = static_cast<std::int64_t>(tokens);
    config.names.clear();
    config.memory_names.clear();
    config.parameters = Ledger();
    if (plan.has_batch) shorten(config.lengths, samples);
    if (cuts_tokens) {
        for (std::int64_t& length : config.lengths) {
            length = std::min(length, static_cast<std::int64_t>(tokens));
        }
    }
    shorten(config.positions, tokens);
    if (std::optional<Tensor>& mask = config.mask.given; mask && mask->dimension() > 2) {
        Shape shape = mask->shape();
        shape.front() = std::min(shape.front(), samples);
        mask = Prefix::of(*mask, shape);
    }
    try {
        Prefix prefix{resolve(std::move(config)), {}};
        prefix.given = draw(prefix.plan);
        for (const auto& [name, tensor] : given.entries()) {
            const Tensor* drawn = prefix.given.find(name);
            const Step& step = find_step(step_table(), name);
            if (drawn == nullptr && step.kind != Step::Kind::computed) continue;
            prefix.given.record(
                name, Prefix::of(tensor, drawn ? drawn->shape() : step.outline(prefix.plan).shape));
        }
        return prefix;
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace attn
