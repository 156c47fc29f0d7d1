#include "attn/diagnose/replay.hpp"

#include <algorithm>

#include "attn/diagnose/their_tensors.hpp"
#include "attn/plan/draw_list.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/slice.hpp"

namespace attn {
namespace {

constexpr std::size_t few_tokens = 16;
constexpr std::size_t many_scores = 20000;

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

std::vector<Screen> Screen::of(const Plan& plan, const Ledger& given, const Ledger& reference) {
    std::vector<Screen> screens;
    if (plan.batch * plan.heads * plan.query_len * plan.key_len < many_scores) return screens;
    Ledger all = given;
    for (const char* source : {"x", "memory"}) {
        if (const Tensor* x = reference.find(source)) all.record(source, *x);
    }
    const std::string last = reference.entries().back().name;
    const std::size_t few = std::min(few_tokens, plan.query_len);
    for (const std::size_t tokens : {few, plan.query_len}) {
        auto prefix = prefix_of(plan, all, 1, tokens);
        auto longer = prefix_of(plan, all, 2, few);
        auto shorter = prefix_of(plan, all, 1, tokens == few ? few / 2 : few);
        if (!prefix || !longer || !shorter || (tokens > few && plan.batch == 1)) continue;
        screens.push_back(Screen(
            std::make_shared<Walks>(std::move(*prefix), std::move(*longer), std::move(*shorter))));
        if (!screens.back().begins_alike(nullptr, last)) screens.pop_back();
    }
    return screens;
}

void Screen::take(const std::string& step, const Tensor& tensor) {
    const Tensor* ours = replay_.step(step);
    if (ours != nullptr) replay_.take(step, Prefix::of(tensor, ours->shape()));
}

/// Whether the step, with the mistake made, of a shorter walk is the beginning of a longer one's.
bool Screen::begins_alike(const Mistake* mistake, const std::string& name) {
    const auto [known, is_new] = walks_->known.try_emplace({mistake, name}, false);
    if (!is_new) return known->second;
    const auto of = [&](Replay& replay) -> std::optional<Tensor> {
        if (mistake != nullptr) return replay.step_with({mistake}, name);
        const Tensor* right = replay.step(name);
        return right != nullptr ? std::optional(*right) : std::nullopt;
    };
    for (const Prefix* each : {&walks_->longer, &walks_->shorter}) {
        if (mistake != nullptr && !mistake->applies(each->plan)) return false;
    }
    const std::optional<Tensor> whole = of(walks_->of_longer), part = of(walks_->of_shorter);
    known->second = whole && part
                        ? judged(*part, Prefix::of(*whole, part->shape()), {1e-4, 1e-4}).right()
                        : !whole && !part;
    return known->second;
}

std::optional<Tensor> Screen::step_with(const std::vector<const Mistake*>& made,
                                        const std::string& name) {
    std::optional<Tensor> wrong = replay_.step_with(made, name);
    // Asked last: most mistakes do not reach the step.
    for (const Mistake* mistake : made) {
        if (wrong && !begins_alike(mistake, name)) return std::nullopt;
    }
    return wrong;
}

}  // namespace attn
