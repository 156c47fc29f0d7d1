#include "attn/walk/ledger.hpp"

#include "attn/tensor/error.hpp"

namespace attn {

void Ledger::record(std::string name, Tensor tensor) {
    for (Entry& entry : entries_) {
        if (entry.name == name) {
            entry.tensor = std::move(tensor);
            return;
        }
    }
    entries_.push_back({std::move(name), std::move(tensor)});
}

const Tensor* Ledger::find(std::string_view name) const {
    for (const Entry& entry : entries_) {
        if (entry.name == name) return &entry.tensor;
    }
    return nullptr;
}

const Tensor& Ledger::operator[](std::string_view name) const {
    if (const Tensor* tensor = find(name)) return *tensor;
    std::string names;
    for (const Entry& entry : entries_) names += " " + entry.name;
    throw ConfigError("there is no step " + std::string(name) +
                      " in this walk; there are:" + names);
}

const Tensor* Ledger::latest(std::initializer_list<std::string_view> names) const {
    const Tensor* latest = nullptr;
    for (const std::string_view name : names) {
        if (const Tensor* tensor = find(name)) latest = tensor;
    }
    return latest;
}

}  // namespace attn
