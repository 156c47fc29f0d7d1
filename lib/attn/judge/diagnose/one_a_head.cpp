#include <algorithm>
#include <map>

#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

// Combines tensors that a program saved separately for each head, and vectors of single words.

namespace attn {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool parts_words(char letter) { return letter == '.' || letter == '_' || letter == '/'; }

/// A name without the number of its head.
struct HeadName {
    std::string name;
    std::size_t number = 0;
};

/// Parses `q.0`, `w_head0` and `heads.0.key.weight` as q, w and key.weight; nullopt if no number
/// counts heads.
std::optional<HeadName> head_name(const std::string& whole) {
    const auto digit = std::ranges::find_if(whole, is_digit);
    const auto first = static_cast<std::size_t>(digit - whole.begin());
    const auto end = std::min(whole.find_first_not_of("0123456789", first), whole.size());
    if (first == whole.size() || end - first > 3) return std::nullopt;
    std::string before = lower(whole.substr(0, first)), after = whole.substr(end);
    const auto drop_marks = [&] {
        while (!before.empty() && parts_words(before.back())) before.pop_back();
    };
    drop_marks();
    const std::string all = before;
    for (const std::string_view word : {"heads", "head", "h"}) {
        const bool is_word =
            before.ends_with(word) &&
            (before.size() == word.size() || word != "h" || parts_words(before.end()[-2]));
        if (!is_word) continue;
        before.erase(before.size() - word.size());
        break;
    }
    const bool names_head = before != all;
    drop_marks();
    while (!after.empty() && parts_words(after.front())) after.erase(0, 1);
    if (!names_head && !after.empty()) return std::nullopt;
    if (before.empty() && after.empty()) before = all;  // head_0
    const std::string mark = before.empty() || after.empty() ? "" : ".";
    return HeadName{before + mark + after, std::stoul(whole.substr(first, end - first))};
}

/// True if numbers behind that name count heads, or, of vectors of x, tokens.
bool is_counted(const std::string& name, const Tensor& each) {
    const std::vector<std::string> steps = known_steps(name);
    if (steps.empty() || names_a_result(name)) return false;
    if (steps.front() == "x") return each.dimension() == 1;
    const Step& step = find_step(kept_table(), steps.front());
    return step.chain != Chain::none || step.name.starts_with("w_") || step.name.starts_with("b_");
}

/// Stacks tensors of one shape, with the heads before the last two axes; whole numbers as float32.
Tensor in_one(const std::vector<const Tensor*>& heads) {
    Shape shape = heads.front()->shape();
    const std::size_t at = shape.size() < 2 ? 0 : shape.size() - 2;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), heads.size());
    const std::size_t inner = axis_view(shape, at).inner;
    const bool is_floating = heads.front()->is_floating();
    return with_floating(is_floating ? heads.front()->dtype() : DType::float32, [&]<class T>(T) {
        return tensor_by(Axes(shape.size(), "axis"), shape, [&](std::size_t i) {
            const std::size_t row = i / inner, head = row % heads.size();
            const std::size_t cell = row / heads.size() * inner + i % inner;
            return static_cast<T>(heads[head]->at(cell));
        });
    });
}

}  // namespace

Ledger heads_together(const Ledger& file) {
    std::map<std::string, std::map<std::size_t, std::string>> sets;
    for (const auto& [name, tensor] : file.entries()) {
        const bool may_be_whole = tensor.dimension() == 1 && tensor.dtype() == DType::int64;
        if (!(tensor.is_floating() || may_be_whole) || tensor.dimension() < 1 ||
            tensor.dimension() > 3)
            continue;
        if (const auto head = head_name(name)) sets[head->name].try_emplace(head->number, name);
    }
    std::map<std::string, std::string> of;  // the group that each name belongs to
    for (const auto& [name, members] : sets) {
        const std::size_t first = members.begin()->first;
        const Tensor& like = file[members.begin()->second];
        const bool is_whole = members.size() > 1 && first < 2 &&
                              members.rbegin()->first - first + 1 == members.size();
        const bool is_alike = std::ranges::all_of(members, [&](const auto& each) {
            const Tensor& tensor = file[each.second];
            return tensor.shape() == like.shape() && tensor.dtype() == like.dtype();
        });
        if (!is_whole || !is_alike || file.has(name) || !is_counted(name, like)) continue;
        for (const auto& each : members) of[each.second] = name;
    }
    Ledger together;
    for (const auto& [name, tensor] : file.entries()) {
        const auto set = of.find(name);
        if (set == of.end()) {
            together.record(name, tensor);
        } else if (!together.has(set->second)) {
            std::vector<const Tensor*> heads;
            for (const auto& each : sets[set->second]) heads.push_back(&file[each.second]);
            together.record(set->second, in_one(heads));
        }
    }
    return together;
}

}  // namespace attn
