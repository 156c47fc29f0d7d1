#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/explain/why/why.hpp"

namespace app {

/// The sequence of steps: a walk, or the page of a notebook.
struct Scene {
    attn::Document document;
    attn::TextForm form = attn::TextForm::torch;  ///< its usual printed form
    attn::DType default_dtype = attn::DType::float32;
    /// For a walk: the ledger and table to derive its numbers from, and its flags.
    std::optional<attn::Plan> plan{};
    attn::StepTable table{};
    attn::Ledger ledger{};
    std::optional<Arguments> arguments{};
    /// For a notebook's page: the flags of its walks, with --notebook, and the notes on parts of
    /// its cells.
    std::optional<Arguments> page{};
    NoteOfPart note_of_page_part{};
};

/// Computes the walk that the flags describe.
///
/// Errors  ConfigError and InputError, as config_of and resolve.
Scene walk_scene(const Arguments& arguments);

/// Computes the walk with changed settings: `scale=none mask=causal`, walk flags without dashes.
///
/// Errors  ConfigError for a flag that does not exist or does not fit.
Scene changed_scene(const Scene& scene, const std::string& settings);

/// A walk that the user steps through: the current step, its current cell, and the trail to them.
/// Independent of keys, screens and lines.
///
/// The session is unchanged if a function throws.
class Session {
public:
    /// `print` has the flags for the listed steps and the form of their numbers.
    /// Errors  ConfigError if there is no step to show.
    Session(Scene scene, Arguments print);

    // --- the current step and cell

    const Scene& scene() const { return scene_; }
    /// All steps, including those that are not shown.
    const std::vector<attn::Section>& sections() const { return document_.sections; }
    const attn::Document& document() const { return document_; }
    std::size_t step() const { return step_; }
    const attn::Section& section() const { return document_.sections[step_]; }
    /// True if `next` and `previous` stop at that section: it is shown, or the current one.
    bool is_listed(std::size_t section) const;
    /// Those sections, in their order.
    std::vector<std::size_t> listed_steps() const;
    /// The step's tensor, or nullptr if a notebook shows text.
    const attn::Tensor* tensor() const;
    /// The index of the current cell on each axis; kept for each axis from step to step.
    std::vector<std::size_t> cursor() const;
    attn::PrintOptions options() const;
    const Arguments& print_flags() const { return print_; }

    /// Increases whenever tensors or their printing may have changed.
    std::size_t revision() const { return revision_; }
    /// True if the cell at these indices has changed since the last `set`.
    bool is_changed(const std::vector<std::size_t>& indices) const;
    /// Returns the number of cells of a section that differ.
    std::size_t changed_cells(std::size_t section) const { return changed_.at(section); }
    /// True if the last `dive` came from this cell.
    bool is_source(const std::vector<std::size_t>& indices) const;

    /// Returns the current cell, in the whole tensor.  Errors  ConfigError if there is none.
    attn::Cell cell() const;
    /// `weights[0,2,3] = 0.1739   head 0, query 'short', key 'eat'`
    std::string cell_line() const;
    /// The note on the current matrix: for the first one, that on the step.
    std::string note_here() const;
    /// The cells that were dived from, and where `other_source` can go; empty without a dive.
    std::string trail_line() const;
    /// Derives the number, `depth` levels deep, with `top` terms of a sum.
    /// Errors  ConfigError on a notebook's page for a cell made of many numbers, or of none.
    std::string why(std::size_t depth, std::size_t top) const;
    /// The step as the walk prints it.
    std::string step_text() const;
    /// The steps with their shapes, the current one marked.
    std::string list_text() const;

    // --- going elsewhere

    /// Moves by `count` listed steps, back if it is negative; stops at the ends.
    void next(std::ptrdiff_t count);
    /// Goes to a step by its name, a prefix of its name, or its number in the list from 1.
    /// Errors  ConfigError, with a guess.
    void go_to(const std::string& name);
    /// Goes to the gradient of the step, or the step of the gradient, at the same cell.
    /// Errors  ConfigError if the walk has no gradient of it.
    void go_to_gradient();
    /// Goes to the next step whose name, title or formula contains `text`.
    /// Errors  ConfigError if there is none.
    void search(const std::string& text);

    /// Moves within the matrix.
    void move(std::ptrdiff_t rows, std::ptrdiff_t columns);
    /// Goes to one index of an axis or, without a number, to the next one, wrapping around.
    /// Errors  ConfigError if the tensor lacks the axis or the index.
    void turn(const std::string& axis, std::optional<std::int64_t> index);
    /// Steps through all axes before the matrix except batch, forward or back.
    void turn_page(bool forward);
    /// Goes to a cell by numbers or words: `0,short,eat`.  Errors  ConfigError, ShapeError.
    void go_to_cell(const std::string& indices);
    /// Goes to the largest number of the row.
    void go_to_most();

    /// Goes to the cell that this number was computed from, or to the largest contribution of
    /// several. On a notebook's page, goes to the same number in its walk; `undo` returns.
    /// Errors  ConfigError if the number is an input of the walk.
    void dive();
    /// After `dive`: goes to the next of the other cells that the number was computed from.
    /// Errors  ConfigError if there are none.
    void other_source();
    /// Returns to the cell at which `dive` was called.  Errors  ConfigError if there was none.
    void back();

    // --- changing the walk

    /// Computes the walk with other settings and marks the changes. Returns a description of them.
    /// On a notebook's page, changes the walk of the cell, and goes there.  Errors  as
    /// changed_scene.
    std::string set(const std::string& settings);
    /// True if there is a `set` to take back.
    bool can_undo() const { return !undone_by_.empty(); }
    /// Reverts the last `set`.  Errors  ConfigError if there was none.
    std::string undo();
    /// Shows only these steps, or parts of them: `weights[0,:,1:3],context`; without text, all.
    /// Errors  ConfigError, ShapeError.
    void only(const std::string& steps);
    /// Shows or hides parameters and the parts of softmax.
    void toggle_detail();
    void set_precision(std::int64_t decimals);
    std::int64_t precision() const;

    /// Writes the current step to a file, in the format of its suffix; programs are not supported.
    /// Errors  ConfigError for another suffix, OutputError.
    void write(const std::string& path) const;

private:
    /// The sources of the number that was dived from.
    struct Sources {
        std::vector<attn::Cell> cells{};  ///< targets first
        std::size_t targets = 0;          ///< number of cells that `other_source` goes through
        std::size_t source = 0;
    };
    struct Visit {
        std::string step;
        std::map<std::string, std::size_t> place;
        Sources sources;
        attn::Cell from;  ///< the cell that was dived into
    };

    /// The walk of the current section of the notebook's page.
    Scene walk_of_page() const;
    /// The current cell of the page, in that walk.
    std::string note_of(const attn::Section& section,
                        const std::vector<attn::AxisPart>& part) const;
    attn::Cell cell_of_page(const Scene& walk) const;
    /// Goes to that walk.
    void leave_page(Scene walk);
    /// Chooses the sections again, keeping the step if it is still there.
    void select(const Arguments& print);
    void count_changes();
    std::string replace_scene(Scene scene);
    std::vector<std::size_t> whole_indices(const std::vector<std::size_t>& indices) const;
    void look_at_tensors(const attn::Cell& cell);
    /// Returns the place of an existing step.
    std::size_t place_of_step(const std::string& name) const;
    void leave_trail();
    const attn::Tensor* whole_before(const std::string& step) const;

    Scene scene_;
    std::optional<Scene> before_;
    std::vector<Scene> undone_by_;  ///< the scenes that `undo` returns to
    Arguments print_;
    attn::Document document_;
    std::vector<std::size_t> changed_;
    std::size_t step_ = 0;
    std::size_t revision_ = 0;
    std::map<std::string, std::size_t> place_;  ///< the current index, by axis
    std::vector<Visit> trail_;
    Sources sources_;
};

}  // namespace app
