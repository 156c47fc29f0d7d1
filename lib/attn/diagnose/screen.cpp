#include "attn/diagnose/screen.hpp"

#include "attn/diagnose/their_tensors.hpp"

namespace attn {
namespace {

constexpr std::size_t few_tokens = 16;
constexpr std::size_t many_scores = 20000;

}  // namespace

bool Screen::Pair::begins_alike(const std::vector<const Mistake*>& made, const std::string& name) {
    const std::optional<Tensor> whole = of_longer.step_with(made, name);
    const std::optional<Tensor> part = of_shorter.step_with(made, name);
    if (!whole || !part) return !whole && !part;
    const Tensor same = Prefix::of(*whole, part->shape());
    return judged(*part, same, {1e-4, 1e-4}).right();
}

std::unique_ptr<Screen> Screen::of(const Plan& plan, const Ledger& given, const Ledger& reference) {
    if (plan.batch * plan.heads * plan.query_len * plan.key_len < many_scores) return nullptr;
    Ledger all = given;
    for (const char* source : {"x", "memory"}) {
        if (const Tensor* x = reference.find(source)) all.record(source, *x);
    }
    const auto screen = [&](std::size_t tokens) -> std::unique_ptr<Screen> {
        const std::size_t few = std::min(tokens, few_tokens);
        auto prefix = prefix_of(plan, all, 1, tokens);
        auto longer = prefix_of(plan, all, 2, few);
        auto shorter = prefix_of(plan, all, 1, tokens == few ? few / 2 : few);
        if (!prefix || !longer || !shorter) return nullptr;
        const std::string last = reference.entries().back().name;
        auto made = std::unique_ptr<Screen>(
            new Screen(std::make_shared<const Prefix>(std::move(*prefix)),
                       std::make_shared<Pair>(std::move(*longer), std::move(*shorter))));
        const Tensor* whole = made->pair_->of_longer.step(last);
        const Tensor* part = made->pair_->of_shorter.step(last);
        const bool begins = whole != nullptr && part != nullptr &&
                            judged(*part, Prefix::of(*whole, part->shape()), {1e-4, 1e-4}).right();
        return begins ? std::move(made) : nullptr;
    };
    if (auto made = screen(std::min(few_tokens, plan.query_len))) return made;
    return plan.batch > 1 ? screen(plan.query_len) : nullptr;
}

void Screen::take(const std::string& step, const Tensor& tensor) {
    const Tensor* ours = replay_.step(step);
    if (ours != nullptr) replay_.take(step, Prefix::of(tensor, ours->shape()));
}

bool Screen::begins_alike(const Mistake& mistake, const std::string& name) {
    const auto [known, is_new] = pair_->known.try_emplace({&mistake, name}, false);
    if (is_new) {
        known->second = mistake.applies(pair_->longer.plan) &&
                        mistake.applies(pair_->shorter.plan) &&
                        pair_->begins_alike({&mistake}, name);
    }
    return known->second;
}

std::optional<Tensor> Screen::step_with(const std::vector<const Mistake*>& made,
                                        const std::string& name) {
    for (const Mistake* mistake : made) {
        if (!begins_alike(*mistake, name)) return std::nullopt;
    }
    return replay_.step_with(made, name);
}

}  // namespace attn
