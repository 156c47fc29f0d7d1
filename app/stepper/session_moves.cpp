#include <algorithm>
#include <cmath>

#include "app/stepper/session.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
void Session::leave_trail() {
    sources_ = {};
    trail_.clear();
}

void Session::next(std::ptrdiff_t count) {
    leave_trail();
    const std::ptrdiff_t direction = count < 0 ? -1 : 1;
    for (; count != 0; count -= direction) {
        std::size_t step = step_;
        do {
            const std::ptrdiff_t beyond = static_cast<std::ptrdiff_t>(step) + direction;
            if (beyond < 0 || beyond >= static_cast<std::ptrdiff_t>(sections().size())) return;
            step = static_cast<std::size_t>(beyond);
        } while (!document_.sections[step].shown);
        step_ = step;
    }
}

void Session::go_to(const std::string& name) {
    const std::vector<std::size_t> list = listed_steps();
    const bool is_number = name.find_first_not_of("0123456789") == name.npos;
    const std::vector<std::string> names = collected(sections(), &attn::Section::name);
    auto found = std::ranges::find(names, name);
    if (found == names.end()) {
        found = std::ranges::find_if(names, [&](const std::string& each) {
            return !name.empty() && each.starts_with(name);
        });
    }
    auto step = static_cast<std::size_t>(found - names.begin());
    for (std::size_t i = 0; is_number && i < list.size(); ++i) {
        if (std::to_string(i + 1) == name) step = list[i];
    }
    if (step == names.size()) {
        const std::string meant = is_number ? "" : attn::closest(name, names);
        const std::string count =
            ": there are " + std::to_string(list.size()) + " steps; list shows them";
        throw attn::ConfigError("there is no step '" + name + "'" +
                                (meant.empty() ? count : "; " + meant + "?"));
    }
    leave_trail();
    step_ = step;
}

void Session::go_to_gradient() {
    const std::string name = section().name;
    const std::string other = name.starts_with("d_") ? name.substr(2) : "d_" + name;
    if (place_of_step(other) == sections().size()) {
        throw attn::ConfigError("there is no " + other + " here" +
                                (scene_.arguments && scene_.arguments->has(flags::backward)
                                     ? ": the loss does not depend on it"
                                     : ": begin with --backward"));
    }
    go_to(other);
}

void Session::search(const std::string& text) {
    const std::string wanted = attn::lower(text);
    for (std::size_t i = 1; i <= sections().size(); ++i) {
        const std::size_t step = (step_ + i) % sections().size();
        const attn::Section& section = sections()[step];
        const std::string words =
            section.name + "\n" + section.title.raw() + "\n" + section.formula;
        if (attn::lower(words).find(wanted) == std::string::npos) continue;
        leave_trail();
        step_ = step;
        return;
    }
    throw attn::ConfigError("no step contains '" + text + "': list shows the steps");
}

void Session::move(std::ptrdiff_t rows, std::ptrdiff_t columns) {
    if (tensor() == nullptr) return;
    const std::vector<std::size_t> indices = cursor();
    const std::size_t axes = indices.size();
    const auto shift = [&](std::size_t axis, std::ptrdiff_t by) {
        const auto last = static_cast<std::ptrdiff_t>(tensor()->shape()[axis]) - 1;
        const auto from = static_cast<std::ptrdiff_t>(indices[axis]);
        // Clamp to the cells first, so that no sum can overflow.
        const std::ptrdiff_t to = by > last - from ? last : by < -from ? 0 : from + by;
        place_[section().counted_by(tensor()->axes()[axis])] =
            static_cast<std::size_t>(std::max<std::ptrdiff_t>(to, 0));
    };
    if (axes > 1) shift(axes - 2, rows);
    if (axes > 0) shift(axes - 1, columns);
}

void Session::turn(const std::string& axis, std::optional<std::int64_t> index) {
    if (tensor() == nullptr || !tensor()->has_axis(axis)) {
        throw attn::ConfigError(section().name + " has no " + axis + " axis");
    }
    const auto length = static_cast<std::int64_t>(tensor()->extent(axis));
    const auto now = static_cast<std::int64_t>(cursor()[tensor()->axis(axis)]);
    const std::int64_t wanted = index ? *index : length == 0 ? 0 : (now + 1) % length;
    if (wanted < 0 || wanted >= length) {
        throw attn::ConfigError("there is no " + axis + " " + std::to_string(wanted) +
                                ": use 0 to " + std::to_string(length - 1));
    }
    place_[section().counted_by(axis)] = static_cast<std::size_t>(wanted);
}

void Session::turn_page(bool forward) {
    if (tensor() == nullptr) return;
    const attn::Shape shape = tensor()->shape();
    const std::vector<std::size_t> indices = cursor();
    for (std::size_t axis = shape.size() < 2 ? 0 : shape.size() - 2; axis-- > 0;) {
        const std::string& name = tensor()->axes()[axis];
        if (name == "batch" || shape[axis] == 0) continue;
        const std::size_t last = shape[axis] - 1;
        const bool turns_over = indices[axis] == (forward ? last : 0);
        place_[name] = turns_over ? (forward ? 0 : last) : indices[axis] + (forward ? 1 : -1);
        if (!turns_over) return;
    }
}

void Session::go_to_cell(const std::string& indices) {
    if (tensor() == nullptr) cell();
    if (scene_.plan && section().part.empty()) {
        look_at_tensors(attn::parse_cell(*scene_.plan, scene_.table, scene_.ledger,
                                         section().name + "[" + indices + "]"));
        return;
    }
    const std::vector<attn::AxisPart> parts = attn::slice_parts(*tensor(), indices);
    for (const attn::AxisPart& part : parts) {
        if (!part.drops_axis) {
            throw attn::ConfigError("'" + indices + "' is not a cell of " + tensor()->described() +
                                    ": give one number for each axis");
        }
    }
    for (std::size_t axis = 0; axis < parts.size(); ++axis) {
        place_[section().counted_by(tensor()->axes()[axis])] =
            static_cast<std::size_t>(parts[axis].first);
    }
}

void Session::go_to_most() {
    cell();
    const attn::Shape shape = tensor()->shape();
    if (shape.empty()) return;
    std::vector<std::size_t> indices = cursor();
    const std::size_t row = attn::flat_index(indices, shape) - indices.back();
    std::size_t best = 0;
    for (std::size_t i = 1; i < shape.back(); ++i) {
        const double best_value = tensor()->at(row + best);
        if (tensor()->at(row + i) > best_value || std::isnan(best_value)) best = i;
    }
    place_[section().counted_by(tensor()->axes().back())] = best;
}

void Session::look_at_tensors(const attn::Cell& cell) {
    const std::size_t step = place_of_step(cell.step);
    const attn::Section& section = sections()[step];
    const attn::Tensor& tensor = std::get<attn::Tensor>(section.content);
    std::map<std::string, std::size_t> place = place_;
    std::size_t axis = 0;
    for (std::size_t i = 0; i < cell.indices.size(); ++i) {
        if (section.part.empty()) {
            place[section.counted_by(tensor.axes()[i])] = cell.indices[i];
            continue;
        }
        const attn::AxisPart& part = section.part[i];
        const std::ptrdiff_t beyond = static_cast<std::ptrdiff_t>(cell.indices[i]) - part.first;
        const std::ptrdiff_t at = beyond / part.step;
        if (beyond % part.step != 0 || at < 0 || at >= static_cast<std::ptrdiff_t>(part.count)) {
            throw attn::ConfigError(attn::cell_text(cell) +
                                    " is outside the shown part: type only to show all");
        }
        if (!part.drops_axis)
            place[section.counted_by(tensor.axes()[axis++])] = static_cast<std::size_t>(at);
    }
    place_ = std::move(place);
    step_ = step;
}

void Session::dive() {
    if (scene_.page) {
        Scene walk = walk_of_page();
        const attn::Cell same = cell_of_page(walk);
        leave_page(std::move(walk));
        return look_at_tensors(same);
    }
    const attn::Cell from = cell();
    const attn::Derivation derivation =
        attn::derive(*scene_.plan, scene_.table, scene_.ledger, from);

    // Collect the target cells, one per step; for a sum, those of the largest term.
    std::vector<attn::Cell> targets;
    const auto add = [&](const attn::Cell& cell) {
        const auto known = std::ranges::find(targets, cell.step, &attn::Cell::step);
        if (known == targets.end()) targets.push_back(cell);
    };
    const auto most = std::ranges::max_element(
        derivation.terms, {}, [](const attn::Term& term) { return std::abs(term.value); });
    if (most != derivation.terms.end()) {
        add(most->left);
        if (most->right) add(*most->right);
    }
    for (const attn::Cell& source : derivation.sources) add(source);
    if (targets.empty()) {
        throw attn::ConfigError(attn::cell_text(from) +
                                " is where the walk starts: " + derivation.rule);
    }

    Visit visit{section().name, place_, sources_, from};
    look_at_tensors(targets.front());
    trail_.push_back(std::move(visit));
    sources_ = {targets, targets.size()};
    sources_.cells.insert(sources_.cells.end(), derivation.sources.begin(),
                          derivation.sources.end());
}

void Session::other_source() {
    if (sources_.targets < 2) {
        throw attn::ConfigError("there is no other: dive into a number first, a score or a weight");
    }
    const std::size_t other = (sources_.source + 1) % sources_.targets;
    look_at_tensors(sources_.cells[other]);
    sources_.source = other;
}

void Session::back() {
    if (trail_.empty()) throw attn::ConfigError("there is no dive to return from");
    const Visit visit = std::move(trail_.back());
    trail_.pop_back();
    step_ = place_of_step(visit.step);
    place_ = visit.place;
    sources_ = visit.sources;
}

}  // namespace app
