#include "attn/core/plan/ledger.hpp"

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

void Ledger::record(std::string name, Tensor tensor) {
    const auto [place, is_new] = places_.try_emplace(name, entries_.size());
    if (is_new) {
        entries_.push_back({std::move(name), std::move(tensor)});
    } else {
        entries_[place->second].tensor = std::move(tensor);
    }
}

Ledger Ledger::without(std::string_view name) const {
    Ledger others;
    others.chains_ = chains_;
    for (const Entry& entry : entries_) {
        if (entry.name != name) others.record(entry.name, entry.tensor);
    }
    return others;
}

const Ledger::Entry* Ledger::entry(std::string_view name) const {
    const auto place = places_.find(name);
    return place == places_.end() ? nullptr : &entries_[place->second];
}

const Tensor* Ledger::find(std::string_view name) const {
    const Entry* found = entry(name);
    return found == nullptr ? nullptr : &found->tensor;
}

const Tensor& Ledger::operator[](std::string_view name) const {
    if (const Tensor* tensor = find(name)) return *tensor;
    std::vector<std::string> names;
    for (const Entry& entry : entries_) names.push_back(entry.name);
    const bool is_parameter = name.find('_') == 1;  // b_query is not a misspelling of w_query
    const std::string meant = is_parameter ? "" : closest(name, names);
    throw ConfigError(
        "there is no step " + std::string(name) + " in this walk; " +
        (meant.empty() ? "there are: " + joined(names, " ") : "did you mean " + meant + "?"));
}

const Ledger::Entry* Ledger::find_latest(Chain chain, std::string_view before) const {
    if (chains_ == nullptr) return nullptr;
    const Entry* latest = nullptr;
    for (const std::string& name : (*chains_)[static_cast<std::size_t>(chain)]) {
        if (name == before) break;
        if (const Entry* found = entry(name)) latest = found;
    }
    return latest;
}

const Tensor& Ledger::latest(Chain chain, std::string_view before) const {
    if (const Entry* found = find_latest(chain, before)) return found->tensor;
    const std::string names[]{"tensors", "queries", "keys", "values", "scores", "contexts"};
    throw ConfigError("this walk has no " + names[static_cast<std::size_t>(chain)]);
}

}  // namespace attn
