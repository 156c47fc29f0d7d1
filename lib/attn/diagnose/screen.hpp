#pragma once
#include <map>
#include <memory>

#include "attn/diagnose/replay.hpp"

namespace attn {

/// The first samples and tokens of a walk, as a walk of their own.
struct Prefix {
    Plan plan;
    Ledger given;

    /// A tensor of the whole walk as far as `like`, one of this walk, goes.
    static Tensor of(const Tensor& whole, const Shape& like);
};

/// Nothing where a walk cannot be cut so: with memory, a past or documents only its samples can.
std::optional<Prefix> prefix_of(const Plan& plan, const Ledger& given, std::size_t samples,
                                std::size_t tokens);

/// A replay of the first tokens of a long walk, kept in step with that of the whole: what a mistake
/// does not make of these it does not make of all.
class Screen {
public:
    /// Of the first few tokens, and of the first sample; none where a walk is short, so that all of
    /// it is soon tried.
    static std::vector<Screen> of(const Plan& plan, const Ledger& given, const Ledger& reference);

    void take(const std::string& step, const Tensor& tensor);
    void make(const Mistake& mistake) { replay_.make(mistake); }

    Replay& replay() { return replay_; }

    /// A step with these mistakes made, as far as it goes here; nothing where they could do
    /// something else to the rest.
    std::optional<Tensor> step_with(const std::vector<const Mistake*>& made,
                                    const std::string& name);

private:
    /// Two walks, of which one is the beginning of the other.
    struct Pair {
        Prefix longer;
        Prefix shorter;
        Replay of_longer{longer.plan, longer.given};
        Replay of_shorter{shorter.plan, shorter.given};
        std::map<std::pair<const Mistake*, std::string>, bool> known{};

        Pair(Prefix longer_one, Prefix shorter_one)
            : longer(std::move(longer_one)), shorter(std::move(shorter_one)) {}
        bool begins_alike(const Mistake* mistake, const std::string& name);
    };

    Screen(std::shared_ptr<const Prefix> prefix, std::shared_ptr<Pair> pair)
        : prefix_(std::move(prefix)), pair_(std::move(pair)) {}
    bool begins_alike(const Mistake& mistake, const std::string& name);

    std::shared_ptr<const Prefix> prefix_;
    std::shared_ptr<Pair> pair_;
    Replay replay_{prefix_->plan, prefix_->given};
};

}  // namespace attn
