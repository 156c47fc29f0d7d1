#include "attn/judge/trace/trace.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "attn/core/settings/parse.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// The parts of a label: `model.py:19:att@2,3#40`.
struct Label {
    std::string file;
    std::size_t line = 0;
    std::string name;
    std::vector<std::size_t> passes;
    std::optional<std::size_t> time;
};

bool is_number(std::string_view text) {
    return !text.empty() && text.size() < 9 &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
}

Label parsed(std::string text) {
    Label label;
    if (const std::size_t again = text.rfind('#');
        again != std::string::npos && is_number(std::string_view(text).substr(again + 1))) {
        label.time = std::stoul(text.substr(again + 1));
        text.resize(again);
    }
    if (const std::size_t at = text.rfind('@'); at != std::string::npos) {
        const std::vector<std::string> passes = split(text.substr(at + 1), ',');
        if (std::ranges::all_of(passes, is_number)) {
            for (const std::string& pass : passes) label.passes.push_back(std::stoul(pass));
            text.resize(at);
        }
    }
    for (std::size_t from = 0, to; (to = text.find(':', from)) != std::string::npos;
         from = to + 1) {
        const std::string part = text.substr(from, to - from);
        if (!is_number(part)) continue;
        label.line = std::stoul(part);
        label.name = text.substr(to + 1);
        if (from > 0) label.file = text.substr(0, from - 1);
        return label;
    }
    label.name = std::move(text);
    return label;
}

/// The passes of one expression in loops; they form one tensor if they fill a grid.
struct Passes {
    std::vector<std::size_t> members;  // in the trace
    std::vector<std::vector<std::size_t>> paths;
    bool are_joined = false;
};

/// Returns the lengths of the grid that the passes fill; empty if some are missing or repeated.
Shape grid_of(const Passes& passes) {
    Shape grid(passes.paths.front().size(), 0);
    for (const auto& path : passes.paths) {
        for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = std::max(grid[i], path[i] + 1);
    }
    return element_count(grid) == passes.paths.size() ? grid : Shape();
}

constexpr std::size_t most_of_one_expression = 24;  // passes that are compared one by one
constexpr std::size_t most_matrices = 64;           // matrices that are joined
constexpr std::size_t most_joined = 1 << 22;        // numbers of a joined tensor

}  // namespace

bool Traced::is_variable() const {
    return !name.empty() &&
           std::ranges::all_of(name, [](char c) { return is_of_name(c) || c == '.'; });
}

bool is_trace(const Ledger& file) {
    return !file.entries().empty() && std::ranges::all_of(file.entries(), [](const auto& entry) {
        return parsed(entry.name).line > 0;
    });
}

Trace traced(const Ledger& file) {
    std::vector<Traced> all;
    std::map<std::tuple<std::string, std::size_t, std::string, Shape>, Passes> loops;
    for (const auto& [name, tensor] : file.entries()) {
        if (tensor.dimension() == 0 || tensor.size() == 0) continue;
        Label label = parsed(name);
        Traced each{name,       label.file,       label.line,     label.name,
                    all.size(), tensor.numbers(), tensor.shape(), tensor.dtype()};
        each.time = label.time.value_or(each.time);
        if (!label.passes.empty()) {
            Passes& passes = loops[{label.file, label.line, label.name, each.shape}];
            const std::size_t depth =
                passes.paths.empty() ? label.passes.size() : passes.paths.front().size();
            if (label.passes.size() == depth) {
                passes.members.push_back(all.size());
                passes.paths.push_back(std::move(label.passes));
            }
        }
        all.push_back(std::move(each));
    }
    std::vector<Traced> joined;
    for (auto& [place, passes] : loops) {
        if (passes.members.size() < 2) continue;
        const Shape grid = grid_of(passes);
        const Traced& last = all[passes.members.back()];
        if (last.rank() > 1 && passes.members.size() > most_matrices) continue;
        if (grid.empty() || passes.members.size() * last.all.size() > most_joined) continue;
        Traced whole = last;
        whole.is_joined = true;
        whole.shape.insert(whole.shape.begin(), grid.begin(), grid.end());
        whole.all.resize(passes.members.size() * last.all.size());
        for (std::size_t i = 0; i < passes.members.size(); ++i) {
            const std::vector<double>& part = all[passes.members[i]].all;
            const std::size_t place_in_grid = flat_index(passes.paths[i], grid);
            std::ranges::copy(
                part, whole.all.begin() + static_cast<std::ptrdiff_t>(place_in_grid * part.size()));
        }
        passes.are_joined = true;
        joined.push_back(std::move(whole));
    }
    // Rows of a loop, and tensors after many passes, are informative only when joined.
    std::vector<bool> is_row(all.size(), false);
    for (const auto& [place, passes] : loops) {
        for (std::size_t i = 0; i < passes.members.size(); ++i) {
            const bool is_one_axis = all[passes.members[i]].rank() < 2;
            is_row[passes.members[i]] =
                i >= most_of_one_expression ||
                (is_one_axis && passes.are_joined && passes.members.size() > 8);
        }
    }
    std::vector<Traced> kept;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!is_row[i]) kept.push_back(std::move(all[i]));
    }
    std::ranges::move(joined, std::back_inserter(kept));
    for (Traced& each : kept) {
        each.is_row = each.rank() == 1;
        if (each.is_row) each.shape.insert(each.shape.begin(), 1);
    }
    std::ranges::stable_sort(kept, {}, &Traced::time);
    return kept;
}

}  // namespace attn
