#include "app/stepper/session.hpp"

#include <algorithm>

#include "app/flags/notebook_walk.hpp"
#include "attn/explain/notes/notes.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace app {
namespace {

constexpr std::int64_t most_decimals_shown = 20;

/// Splits `scale=none bias` into the words `--scale=none` and `--bias`. A quoted value may contain
/// spaces.
std::vector<std::string> flags_in(const std::string& settings) {
    std::vector<std::string> words = shell_words(settings);
    for (std::string& word : words) {
        if (!word.starts_with('-')) word.insert(0, "--");
    }
    return words;
}

}  // namespace

Scene walk_scene(const Arguments& arguments) {
    Scene scene;
    auto [plan, table, ledger] = walk_of(arguments);
    scene.document = attn::document_of(plan, ledger, table);
    scene.document.config = config_entries(arguments, plan);
    scene.form = form_of(plan);
    scene.default_dtype = plan.default_dtype();
    scene.plan = std::move(plan);
    scene.table = std::move(table);
    scene.ledger = std::move(ledger);
    scene.arguments = arguments;
    return scene;
}

Scene changed_scene(const Scene& scene, const std::string& settings) {
    if (settings.find_first_not_of(' ') == std::string::npos) {
        throw attn::ConfigError("set what? write set mask=causal, set scale=none, set heads=2");
    }
    try {
        return walk_scene(with_flags(*scene.arguments, flags_in(settings)));
    } catch (const UnknownFlag& error) {
        if (settings.find(' ') == settings.npos) throw;
        throw attn::ConfigError(std::string(error.what()) +
                                "; quote a value with spaces: text='the cat'");
    }
}

Session::Session(Scene scene, Arguments print)
    : scene_(std::move(scene)), print_(std::move(print)) {
    select(print_);
}

// --- the current step and cell

bool Session::is_listed(std::size_t section) const {
    return section == step_ || document_.sections[section].shown;
}

std::vector<std::size_t> Session::listed_steps() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < sections().size(); ++i) {
        if (is_listed(i)) all.push_back(i);
    }
    return all;
}

std::size_t Session::place_of_step(const std::string& name) const {
    const auto found = std::ranges::find(sections(), name, &attn::Section::name);
    return static_cast<std::size_t>(found - sections().begin());
}

const attn::Tensor* Session::tensor() const {
    return std::get_if<attn::Tensor>(&section().content);
}

std::vector<std::size_t> Session::cursor() const {
    std::vector<std::size_t> indices;
    if (tensor() == nullptr) return indices;
    const attn::Shape shape = tensor()->shape();
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const auto found = place_.find(section().counted_by(tensor()->axes()[i]));
        const std::size_t wanted = found == place_.end() ? 0 : found->second;
        indices.push_back(shape[i] == 0 ? 0 : std::min(wanted, shape[i] - 1));
    }
    return indices;
}

attn::PrintOptions Session::options() const {
    attn::PrintOptions options = print_options(print_);
    options.default_dtype = scene_.default_dtype;
    return options;
}

const attn::Tensor* Session::whole_before(const std::string& step) const {
    const attn::Tensor* before = before_->ledger.find(step);
    const attn::Tensor* now = scene_.ledger.find(step);
    const bool comparable = before != nullptr && now != nullptr && before->shape() == now->shape();
    return comparable ? before : nullptr;
}

bool Session::is_changed(const std::vector<std::size_t>& indices) const {
    if (!before_ || tensor() == nullptr) return false;
    const attn::Tensor* before = whole_before(section().name);
    if (before == nullptr) return true;
    const std::size_t flat = attn::flat_index(whole_indices(indices), before->shape());
    return !attn::same_number(before->at(flat), scene_.ledger[section().name].at(flat));
}

void Session::count_changes() {
    changed_.assign(document_.sections.size(), 0);
    if (!before_) return;
    for (std::size_t i = 0; i < document_.sections.size(); ++i) {
        const attn::Section& section = document_.sections[i];
        const attn::Tensor& now = scene_.ledger[section.name];
        const attn::Tensor* before = whole_before(section.name);
        changed_[i] = before == nullptr ? now.size() : attn::differing_cells(*before, now);
    }
}

bool Session::is_source(const std::vector<std::size_t>& indices) const {
    if (sources_.cells.empty()) return false;
    const std::vector<std::size_t> whole = whole_indices(indices);
    return std::ranges::any_of(sources_.cells, [&](const attn::Cell& cell) {
        return cell.step == section().name && cell.indices == whole;
    });
}

std::vector<std::size_t> Session::whole_indices(const std::vector<std::size_t>& indices) const {
    if (section().part.empty()) return indices;
    std::vector<std::size_t> whole;
    std::size_t axis = 0;
    for (const attn::AxisPart& part : section().part) {
        const std::size_t i = part.drops_axis ? 0 : indices[axis++];
        whole.push_back(
            static_cast<std::size_t>(part.first + static_cast<std::ptrdiff_t>(i) * part.step));
    }
    return whole;
}

attn::Cell Session::cell() const {
    if (tensor() == nullptr || tensor()->size() == 0) {
        throw attn::ConfigError(section().name + " has no cells: go to another step");
    }
    const std::vector<std::size_t> indices = cursor();
    return {section().name, whole_indices(indices),
            tensor()->at(attn::flat_index(indices, tensor()->shape()))};
}

// --- changing the walk

Scene Session::walk_of_page() const {
    constexpr std::string_view ending = "_corrected";
    Arguments flags = *scene_.page;
    std::string name = section().name;
    if (name.ends_with(ending)) {
        name.resize(name.size() - ending.size());
        flags.set(flags::corrected, "");
    }
    flags.set(flags::notebook, flags[flags::notebook] + ":" + name);
    set_notebook_defaults(flags);
    return walk_scene(flags);
}

attn::Cell Session::cell_of_page(const Scene& walk) const {
    const std::string requested = tensor() == nullptr ? section().name : attn::cell_text(cell());
    const std::string found = cell_of_walk(section(), *walk.plan, walk.ledger, requested);
    if (found.empty()) {
        throw attn::ConfigError(requested + " is computed from all of " + section().parts +
                                ": step --notebook " + (*scene_.page)[flags::notebook] + ":" +
                                section().name + " goes through them");
    }
    return attn::parse_cell(*walk.plan, walk.table, walk.ledger, found);
}

void Session::leave_page(Scene walk) {
    const std::string step = before(section().parts, '[');
    undone_by_.push_back(scene_);
    replace_scene(std::move(walk));
    go_to(step);
}

std::string Session::note_of(const attn::Section& section,
                             const std::vector<attn::AxisPart>& part) const {
    if (!scene_.plan) return scene_.note_of_page_part(section, part);
    const attn::Step& step = attn::find_step(scene_.table, section.name);
    return attn::step_note({*scene_.plan, scene_.table, step}, scene_.ledger, part);
}

std::string Session::note_here() const {
    const std::vector<std::size_t> at = cursor();
    const bool first =
        std::all_of(at.begin(), at.end() - std::min<std::ptrdiff_t>(std::ssize(at), 2),
                    [](std::size_t index) { return index == 0; });
    if (first || !scene_.plan || !section().part.empty() || section().note.empty()) {
        return section().note.visible();
    }
    std::string indices;
    for (std::size_t axis = 0; axis + 2 < at.size(); ++axis) {
        indices += std::to_string(at[axis]) + ",";
    }
    return note_of(section(), attn::slice_parts(*tensor(), indices + "..."));
}

void Session::select(const Arguments& print) {
    // Choose the listed steps; the others can still be reached.
    check_print_flags(print);
    attn::Document selected = scene_.document;
    const auto note = [this](const auto& section, const auto& part) {
        return note_of(section, part);
    };
    select_sections(print, selected, note, true);
    const std::vector<attn::Section>& sections = selected.sections;
    const auto is_shown = [](const attn::Section& section) { return section.shown; };
    const auto first = std::find_if(sections.begin(), sections.end(), is_shown);
    if (first == sections.end()) throw attn::ConfigError("there is no step to show");

    // Stay at the step, or else go to the first.
    const std::string now = document_.sections.empty() ? std::string() : section().name;
    const auto same = std::find_if(sections.begin(), sections.end(), [&](const attn::Section& one) {
        return one.name == now && one.shown;
    });
    step_ = static_cast<std::size_t>((same == sections.end() ? first : same) - sections.begin());
    document_ = std::move(selected);
    print_ = print;
    leave_trail();
    count_changes();
    ++revision_;
}

std::string Session::replace_scene(Scene scene) {
    const bool compares = scene_.plan && scene.plan;
    std::string gone;
    for (const auto& entry : scene_.ledger.entries()) {
        if (!scene.ledger.has(entry.name)) gone += (gone.empty() ? "" : ", ") + entry.name;
    }
    before_ = std::move(scene_);
    if (!compares) before_.reset();
    scene_ = std::move(scene);
    try {
        select(print_);
    } catch (const attn::Error&) {
        // A selected part no longer exists: show everything.
        Arguments all = print_;
        all.forget_any({flags::only, flags::from, flags::until});
        select(all);
    }
    if (!compares) return scene_.page ? "back on the notebook's page" : "in the walk";
    std::string changed;
    for (std::size_t i = 0; i < sections().size(); ++i) {
        if (changed_[i] == 0) continue;
        changed += (changed.empty() ? "" : ", ") + sections()[i].name + " " +
                   std::to_string(changed_[i]) + " of " +
                   std::to_string(scene_.ledger[sections()[i].name].size());
    }
    return (changed.empty() ? "nothing changed" : "changed cells: " + changed) +
           (gone.empty() ? "" : "; gone: " + gone);
}

std::string Session::set(const std::string& settings) {
    std::optional<Scene> walk;
    if (scene_.page) walk = walk_of_page();
    Scene scene = changed_scene(walk ? *walk : scene_, settings);
    if (walk) leave_page(std::move(*walk));
    undone_by_.push_back(scene_);
    return replace_scene(std::move(scene));
}

std::string Session::undo() {
    if (undone_by_.empty())
        throw attn::ConfigError("there is nothing to undo: set changes settings");
    Scene scene = std::move(undone_by_.back());
    undone_by_.pop_back();
    return replace_scene(std::move(scene));
}

void Session::only(const std::string& steps) {
    Arguments print = print_;
    print.forget_any({flags::only, flags::from, flags::until});
    if (!steps.empty()) print.set(flags::only, steps);
    select(print);
}

void Session::toggle_detail() {
    Arguments print = print_;
    const bool shows = print.has(flags::detail);
    shows ? print.forget_any({flags::detail}) : print.set(flags::detail, "");
    select(print);
}

std::int64_t Session::precision() const {
    return print_[flags::precision].value_or(scene_.form == attn::TextForm::numpy ? 8 : 4);
}

void Session::set_precision(std::int64_t decimals) {
    if (decimals < 0 || decimals > most_decimals_shown) {
        throw attn::ConfigError("precision must be from 0 to " +
                                std::to_string(most_decimals_shown) + " decimals");
    }
    print_.set(flags::precision, std::to_string(decimals));
    ++revision_;
}

}  // namespace app
