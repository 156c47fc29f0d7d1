#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/learn/notebooks/notebook.hpp"

namespace app {

/// --notebook, for the commands that walk.
const std::vector<Flag>& notebook_walk_flags();
/// The numbers and names of notebooks.
std::vector<std::string> notebook_names();

/// Returns the flags that make a walk: `--heads 2`.
std::vector<Arguments::SpecifiedFlag> flags_of(const attn::NotebookWalk& walk);

/// Returns the cells of a page with that name: one section, all of a numbered cell of the notebook,
/// or all cells with that name in the notebook.
///
/// Errors  ConfigError, with a guess.
std::vector<attn::Section> cells_named(const attn::Notebook& notebook, const attn::Document& page,
                                       const std::string& name);

/// Replaces the notebook's numbers and names in --only by names of sections.
std::string sections_named(const attn::Document& page, const std::string& only);

/// Adds the flags of --notebook's walk below the typed ones, replacing those added before. Without
/// a cell, it is the walk of CELL (of why), else the main one. With --corrected, or if the command
/// has no --bug, it is the corrected walk.
///
/// Errors  ConfigError for a notebook or cell that does not exist, or that no walk makes.
void set_notebook_defaults(Arguments& arguments);

/// If --notebook names no cell, uses the flags of the page's walk with the most of these tensors,
/// and reports which one.
///
/// Returns the steps that have another name on the page: `embedded_sentence` is x.
std::map<std::string, std::string> set_defaults_from_tensors(Arguments& arguments,
                                                             const attn::Ledger& tensors);

/// Adds the flags of a walk below the typed ones, as implied.
/// Errors  ConfigError if a trained model is given too.
void set_walk_defaults(Arguments& arguments, const attn::NotebookWalk& walk);

/// Returns the section of the notebook's page for `cell` (`weights[0,1]`); nullopt if there is
/// none, or --notebook names a cell of another walk.
std::optional<attn::Section> page_section(const Arguments& arguments, const std::string& cell);

/// Returns the cell of the walk that the page's cell shows; empty if it was computed from many
/// cells.
///
/// Errors  ConfigError for indices that the page's tensor does not have.
std::string cell_of_walk(const attn::Section& section, const attn::Plan& plan,
                         const attn::Ledger& ledger, const std::string& cell);

}  // namespace app
